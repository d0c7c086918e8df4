// Drives the page in Chromium. Usage: node page.mjs SCENARIO.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import assert from 'node:assert/strict';
import path from 'node:path';

const installed = createRequire(path.join(process.env.JACKFIELD_MODULES, 'package.json'));
const { chromium } = installed('playwright-core');
const { source: axe } = installed('axe-core');
const url = process.env.JACKFIELD_URL;
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

// Asks the test for something, and waits until it is done.
async function wish(text) {
  console.log(text);
  const { value } = await answers.next();
  assert.equal(value, 'done');
}

const complaints = [];
// Where the gateway is ended on purpose, the browser says so.
let isAway = false;
// Where else a browser may go: to sign in.
let provider = null;

const token = process.env.JACKFIELD_PAGE_TOKEN;

// A page whose console is listened to, in a browser that was at the page by its link before, unless it is a stranger.
async function opened(browser, { isStranger = false, ...options } = {}) {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  const cookie = { name: 'jackfield_page', value: token, domain: new URL(url).hostname, path: '/api/v1', httpOnly: true, sameSite: 'Strict' };
  if (!isStranger) await context.addCookies([cookie]);
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  page.on('console', (message) => {
    if (!isAway) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    const isSignIn = provider && request.isNavigationRequest() && request.url().startsWith(provider);
    if (!request.url().startsWith(url) && !request.url().startsWith('data:') && !isSignIn) complaints.push(`asks ${request.url()}`);
  });
  return page;
}

const shot = (page, name) => page.screenshot({ path: path.join(process.env.JACKFIELD_SHOTS, `${name}.png`) });

// Waits until the page has heard that the last message was taken: until then it takes no other one, and then it moves the
// focus. A reply may be over before.
const taken = (page) => page.waitForFunction(() => {
  const button = document.querySelector('.composer [type=submit]');
  return button && !button.disabled;
});

async function say(page, text) {
  await taken(page);
  const field = page.getByRole('textbox', { name: 'Message' });
  await field.fill(text);
  await field.press('Enter');
  await taken(page);
}

// Answers the last message again, in another version of the session.
async function retry(page) {
  await taken(page);
  const before = page.url();
  await page.getByRole('button', { name: 'Retry' }).last().click();
  await page.waitForFunction((old) => location.href !== old, before);
  await taken(page);
}

const ended = (page, n) => page.locator(`.turn[data-status=ended] >> nth=${n}`).waitFor();

// No part is wider than the window.
async function fits(page) {
  const [whole, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(whole <= seen, `${whole} px in a window of ${seen} px`);
}

// Everyone can use it, as far as a program can judge.
async function isAccessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const found = violations.map(({ id, impact, nodes }) => `${id} (${impact}): ${nodes.map((node) => node.html.slice(0, 120)).join(' | ')}`);
  assert.deepEqual(found, []);
}

// Does what the gateway refuses with this status. The browser reports that in a message of its own, which may come after
// the page has shown it.
async function refused(page, status, act) {
  isAway = true;
  await Promise.all([page.waitForEvent('console', (message) => message.text().includes(String(status))), act()]);
  isAway = false;
}

// Signs in with a key.
async function keyIn(page, key) {
  await page.goto(url);
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
  await page.locator('#login').waitFor({ state: 'hidden' });
}

// Opens the menu of the person.
const personMenu = (page) => page.locator('.person').click();

// Presses a button that asks whether one is sure, where the focus is on the safe answer, and says yes.
async function surely(page, button) {
  const name = await button.textContent();
  await button.click();
  const dialog = page.getByRole('dialog');
  await dialog.waitFor();
  assert.ok(await dialog.getByRole('button', { name: 'Cancel' }).evaluate((one) => one === document.activeElement));
  await dialog.getByRole('button', { name }).click();
}

// Opens the menu of an entry, and takes a line of it.
async function take(page, name, line) {
  await page.getByRole('button', { name: `Actions for ${name}`, exact: true }).click();
  const item = page.locator('.panel').getByRole('button', { name: line, exact: true });
  if (line === 'Disable' || line === 'Revoke') await surely(page, item);
  else await item.click();
}

// Fills in the form in front of the page, and sends it.
async function fillIn(page, values, submit) {
  const form = page.getByRole('dialog');
  for (const [label, value] of Object.entries(values)) {
    const field = form.locator('label', { has: page.locator(`span:text-is("${label}")`) }).locator('input, select');
    if (typeof value === 'boolean') await field.setChecked(value);
    else await ((await field.evaluate((one) => one.tagName)) === 'SELECT' ? field.selectOption(value) : field.fill(value));
  }
  await form.getByRole('button', { name: submit, exact: true }).click();
}

const UNPRICED = 'Models without a price may be called, and count for no limit of money';

// Opens or folds a card.
const unfold = (card) => card.locator('button.head').click();

// A request by hand, as another program sends it.
async function api(method, address, body) {
  const init = { method, headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) };
  const response = await fetch(`${url}/api/v1${address}`, init);
  assert.ok(response.ok, `${method} ${address}: ${response.status}`);
  return response.json();
}

const scenarios = {
  async link(browser) {
    const page = await opened(browser, { isStranger: true });
    await page.goto(url);
    const field = page.getByLabel('Link to this page');
    await field.fill(`${url}/#token=${'0'.repeat(64)}`);
    await isAccessible(page);
    await refused(page, 401, () => page.keyboard.press('Enter'));
    await page.getByText('This is not the link of this gateway.').waitFor();
    // The link is opened in the same page.
    await page.goto(`${url}/#token=${token}/usage`);
    await page.getByRole('heading', { name: 'Use and cost' }).waitFor();
    assert.equal(page.url(), `${url}/#/usage`);
    await page.goto('about:blank');
    await page.goto(url);
    await say(page, 'Hi');
    await page.getByText('Good day').waitFor();
    // Times in the form of the reader, who is British.
    await page.getByText(/\d\d:\d\d/).first().waitFor();
    const shown = await page.locator('body').innerText();
    assert.doesNotMatch(shown, /\d [AP]M\b/i);
    const [cookie] = await page.context().cookies(`${url}/api/v1`);
    assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, 'Strict']);
  },
  async cards(browser) {
    const page = await opened(browser, { viewport: { width: 1280, height: 900 } });
    await page.goto(url);
    await shot(page, 'empty');
    await say(page, 'What is 15% of 2500, and 6*7?');
    const cards = page.locator('.turn .card');
    await page.getByRole('button', { name: 'Allow once' }).nth(1).waitFor();
    assert.equal(await cards.count(), 2);
    await page.locator('#places .waiting', { hasText: 'Waiting: 2' }).waitFor();
    await page.waitForFunction(() => document.title.startsWith('(2) What is 15%'));
    await shot(page, 'waiting');
    await isAccessible(page);
    // Two clicks are one answer: the first disables the button.
    await cards.nth(0).getByRole('button', { name: 'Allow once' }).dblclick();
    await cards.nth(0).getByText(/^You allowed this, \d\d:\d\d$/).waitFor();
    // The other one is answered in the list over all sessions, in another tab.
    const other = await page.context().newPage();
    await other.goto(`${url}/#/approvals`);
    await other.getByRole('button', { name: 'Deny' }).click();
    await other.getByRole('textbox', { name: 'Reason' }).fill('Too easy');
    await shot(other, 'approvals');
    await isAccessible(other);
    await other.getByRole('button', { name: 'Deny' }).click();
    await other.locator('.card').getByText(/^You denied this, \d\d:\d\d$/).waitFor();
    await ended(page, 0);
    assert.equal(await cards.nth(0).getAttribute('data-state'), 'done');
    assert.equal(await cards.nth(1).getAttribute('data-state'), 'denied');
    await other.close();
    // Markdown is rendered, and what would run is text.
    const answer = page.locator('.rendered').last();
    assert.equal(await answer.locator('strong').textContent(), '375');
    assert.equal(await answer.locator('script, img').count(), 0);
    assert.equal(await answer.locator('td').last().evaluate((cell) => getComputedStyle(cell).textAlign), 'right');
    assert.match(await answer.textContent(), /<script>document\.title/);
    assert.deepEqual(await answer.locator('a[href]').evaluateAll((all) => all.map((one) => one.getAttribute('href'))), [
      'https://example.com/a?b=1&c=2', 'https://example.com/leak.png']);
    // Calls that went well are one line each, which says who allowed them.
    assert.ok(await cards.nth(0).locator('.body').isHidden());
    await cards.nth(0).getByText(/^You allowed this, \d\d:\d\d$/).waitFor();
    await unfold(cards.nth(0));
    await cards.nth(0).getByRole('button', { name: 'JSON' }).click();
    await cards.nth(0).getByText('"expression": "15% of 2500"').first().waitFor();
    await shot(page, 'answered');
    // Edited arguments, by keyboard alone.
    await say(page, 'What is 1+1?');
    const edit = page.getByRole('button', { name: 'Edit arguments' });
    await edit.focus();
    await page.keyboard.press('Enter');
    const field = page.getByRole('textbox', { name: 'Arguments' });
    await field.fill('{"expression": "2+2"}');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    // Nothing else waits, so the next message can be typed.
    await page.waitForFunction(() => document.activeElement.matches('.composer textarea'));
    await ended(page, 1);
    assert.match(await cards.nth(2).textContent(), /A person changed the arguments/);
    // A fork before the second turn, with its message to be changed.
    const before = page.url();
    await page.locator('.turn').nth(1).getByRole('button', { name: 'Edit' }).first().click();
    await page.waitForFunction((old) => location.href !== old, before);
    await page.waitForFunction(() => document.querySelector('.composer textarea').value === 'What is 1+1?');
    await say(page, 'What is the fork?');
    await page.getByText('The fork answers.').first().waitFor();
    await ended(page, 0);
    assert.equal(await page.locator('.history .card').count(), 2);
    await shot(page, 'fork');
    // The session gets a title, by keyboard.
    await page.getByRole('button', { name: 'Session actions' }).click();
    await page.getByRole('button', { name: 'Rename' }).click();
    const title = page.getByRole('textbox', { name: 'Title of the session' });
    await title.fill('Plans <b>for</b> May');
    await title.press('Enter');
    await page.locator('.sessions').getByText('Plans <b>for</b> May').waitFor();
    assert.equal(await page.locator('.title h1').textContent(), 'Plans <b>for</b> May');
    // How the time of a turn was spent, what was recorded, and the same decisions again.
    await page.goto(before);
    await ended(page, 1);
    await page.locator('.turn').first().getByRole('button', { name: 'Timeline' }).click();
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await timeline.getByText('Question (approval)').first().waitFor();
    assert.deepEqual(await timeline.locator('tr[data-kind]').evaluateAll((all) => all.map((one) => one.dataset.kind)),
      ['model', 'wait', 'wait', 'call', 'call', 'model']);
    await timeline.getByRole('button', { name: 'Facts' }).first().click();
    await timeline.getByText('"reply_received"').first().waitFor();
    await timeline.getByRole('button', { name: 'Facts' }).first().click();
    await timeline.getByRole('button', { name: 'Replay' }).click();
    await timeline.getByText(/^All \d+ steps come out the same\.$/).waitFor();
    await shot(page, 'timeline');
    await isAccessible(page);
    await page.locator('.sessions a').nth(1).waitFor();
    // The same on a phone and in the dark.
    const phone = await opened(browser, { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true });
    await phone.goto(before);
    await ended(phone, 1);
    await fits(phone);
    await shot(phone, 'phone-dark');
    await isAccessible(phone);
    await phone.locator('.turn').first().scrollIntoViewIfNeeded();
    await phone.evaluate(() => document.querySelector('.scroll').scrollTo(0, 0));
    await shot(phone, 'phone-dark-top');
    await phone.getByRole('button', { name: 'Menu' }).click();
    await shot(phone, 'phone-menu');
    await page.getByRole('link', { name: 'Use and cost' }).click();
    const choice = (name) => page.getByRole('combobox', { name, exact: true });
    for (const [by, heading] of [['model', 'Model'], ['user', 'User'], ['session', 'Session'], ['tag:team', 'Tag team'], ['day', 'Day']]) {
      await choice('By').selectOption(by);
      await page.getByRole('columnheader', { name: heading, exact: true }).waitFor();
      await page.waitForFunction(() => document.querySelector('.chart')?.naturalWidth > 0);
    }
    await choice('Chart of').selectOption('first_token');
    // The sums, against as many days before; all days; what was used most, which leads to its table.
    const sum = (name) => page.locator('.sums > div', { has: page.locator(`dt:text-is("${name}")`) });
    assert.equal(await sum('Turns').locator('strong').textContent(), '3');
    assert.match(await sum('Tokens').textContent(), /^Tokens[\d,]+Against the 30 days before: –$/);
    await page.getByRole('button', { name: 'Top tools' }).click();
    await page.getByRole('columnheader', { name: 'Tool', exact: true }).waitFor();
    assert.equal(await choice('By').inputValue(), 'tool');
    await page.getByRole('button', { name: 'Top models' }).click();
    await page.getByRole('columnheader', { name: 'Model', exact: true }).waitFor();
    const column = page.getByRole('columnheader', { name: 'First token (median / p95)' });
    assert.equal(await column.count(), 0);
    await page.getByRole('checkbox', { name: 'More columns' }).check();
    await column.waitFor();
    await page.getByRole('checkbox', { name: 'More columns' }).uncheck();
    const csv = page.waitForEvent('download');
    await page.getByRole('link', { name: 'CSV' }).click();
    assert.equal((await csv).suggestedFilename(), 'usage.csv');
    for (const place of ['Use and cost', 'Servers and providers']) {
      await page.getByRole('link', { name: place }).click();
      await page.getByRole('heading', { name: place }).waitFor();
      await page.locator('.page table').first().waitFor();
      await shot(page, place.toLowerCase().replaceAll(' ', '-'));
      await isAccessible(page);
    }
    await phone.goto(`${url}/#/usage`);
    await phone.locator('.page table').waitFor();
    await fits(phone);
    await shot(phone, 'phone-usage');
    for (const [locale, send] of [['ru-RU', 'Отправить'], ['zh-CN', '发送']]) {
      const reader = await opened(browser, { locale, viewport: { width: 1000, height: 800 } });
      await reader.goto(before);
      await reader.getByRole('button', { name: send }).waitFor();
      await ended(reader, 1);
      await shot(reader, locale);
    }
  },

  async streams(browser) {
    const page = await opened(browser);
    await page.goto(url);
    await say(page, 'Write the first');
    await wish('first stream');
    await page.getByText('A word after the other').first().waitFor();
    // It has its form while it is written.
    await page.locator('.turn .rendered h1', { hasText: 'Rain' }).waitFor();
    await shot(page, 'streaming');
    // Another tab lets all be read from their cursors on: the reply has its form from its beginning again.
    await page.evaluate(() => { window.shown = document.querySelector('.turn .round'); });
    const { id } = await api('POST', '/sessions');
    const other = await page.context().newPage();
    await other.goto(`${url}/#/sessions/${id}`);
    await page.waitForFunction(() => document.querySelector('.turn .round') !== window.shown && document.querySelector('.turn .rendered h1'));
    assert.equal(await page.locator('.turn .rendered h1').count(), 1);
    await other.close();
    await page.reload();
    await page.getByText('A word after the other').first().waitFor();
    assert.equal(await page.locator('.turn').getAttribute('data-status'), 'running');
    await wish('rest of the first stream');
    await ended(page, 0);
    assert.match(await page.locator('.turn .text').last().textContent(), /The end of the first\.$/m);
    await say(page, 'Write the second');
    await page.locator('.turn').nth(1).getByText('A word after the other').waitFor();
    // To the end, as the browser may report late what failed.
    isAway = true;
    await wish('kill');
    await page.locator('.connection').getByText('The gateway cannot be reached').waitFor();
    await shot(page, 'away');
    await wish('start');
    await page.getByText('The reply after the restart.').first().waitFor();
    await ended(page, 1);
    const second = page.locator('.turn').nth(1);
    assert.equal(await second.getByText('A word after the other').count(), 0);
    assert.equal(await page.locator('.connection').getByText('The gateway cannot be reached').count(), 0);
    await shot(page, 'restarted');
  },

  // The page tells the failure of a provider once, with what to do, and names a browser without a network.
  async failed(browser) {
    const page = await opened(browser);
    await page.goto(url);
    await say(page, 'Hi');
    await ended(page, 0);
    const told = page.locator('.turn .reply p');
    assert.deepEqual(await told.allTextContents(), [
      'The model is asked again: Boom (500, api_error) (2×)', 'The turn failed: Boom (500, api_error)',
      'Wait a little and send the message again, or choose another model.']);
    await shot(page, 'failed');
    await isAccessible(page);
    isAway = true;
    await page.context().setOffline(true);
    await page.getByText('This browser is offline.').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('Are you there?');
    await page.keyboard.press('Enter');
    await page.getByText('Not sent: the gateway cannot be reached').waitFor();
    await page.context().setOffline(false);
    await page.waitForFunction(() => document.querySelector('.connection').textContent === '');
  },

  // What is written and chosen stays over another place, a reload and another session; colours are chosen.
  async kept(browser) {
    const page = await opened(browser, { viewport: { width: 1280, height: 900 } });
    await page.goto(url);
    const field = page.getByRole('textbox', { name: 'Message' });
    const model = page.getByRole('combobox', { name: 'Model' });
    const holds = (text) => page.waitForFunction((wanted) => document.querySelector('.composer textarea')?.value === wanted, text);
    await page.getByText('Ask something', { exact: true }).waitFor();
    await model.locator('option', { hasText: 'claude/claude-opus-5-5' }).last().waitFor({ state: 'attached' });
    await model.selectOption('claude/claude-opus-5-5');
    await field.fill('A thought that is not sent');
    await page.getByRole('link', { name: 'Approvals' }).click();
    await page.getByText('Nothing waits for you.').waitFor();
    assert.equal(await page.locator('#places a[aria-current=page]').innerText(), 'Approvals');
    await shot(page, 'nothing-waits');
    await isAccessible(page);
    await page.getByRole('link', { name: 'New session' }).click();
    await holds('A thought that is not sent');
    await page.reload();
    await holds('A thought that is not sent');
    await page.waitForFunction(() => document.querySelector('.composer select').value === 'claude/claude-opus-5-5');
    // It is sent, and nothing of it is left but the model.
    await field.press('Enter');
    await ended(page, 0);
    await holds('');
    const session = page.url();
    // Another tab of the session shows the same, until it has words of its own; leaving it takes nothing away.
    const other = await page.context().newPage();
    await other.goto(session);
    await ended(other, 0);
    const otherField = other.getByRole('textbox', { name: 'Message' });
    await field.fill('Of the first');
    await other.waitForFunction(() => document.querySelector('.composer textarea').value === 'Of the first');
    await otherField.fill('Of the second tab');
    await holds('Of the second tab');
    await field.fill('Of the first');
    await other.waitForFunction(() => document.querySelector('.composer textarea').value === 'Of the first');
    await other.close();
    await page.getByRole('link', { name: 'New session' }).click();
    await holds('');
    await page.goto(session);
    await holds('Of the first');
    await page.waitForFunction(() => document.querySelector('.composer select').value === 'claude/claude-opus-5-5');
    // The list of keys, but not while one writes.
    await field.press('?');
    await holds('Of the first?');
    await page.locator('.title h1').click();
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard' }).getByText('Begins a session').waitFor();
    await isAccessible(page);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    // The code has its language, and is copied.
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('.code-head', { hasText: 'rust' }).getByRole('button', { name: 'Copy the code' }).click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()) === 'fn main() {}\n');
    // How to connect: this gateway needs no key, and the snippets name its model.
    await page.getByRole('link', { name: 'How to connect' }).click();
    await page.locator('.page').getByText('This gateway needs no key', { exact: false }).waitFor();
    const code = page.getByRole('tabpanel').locator('pre').last();
    const tab = page.getByRole('tab', { name: 'curl' });
    await tab.focus();
    for (const [key, name, words] of [['Home', 'curl', `curl ${url}/v1/chat/completions`], ['ArrowRight', 'OpenAI · Python', `OpenAI(base_url="${url}/v1", api_key="any")`],
      ['ArrowRight', 'OpenAI · JS', `baseURL: "${url}/v1"`], ['ArrowRight', 'Anthropic · Python', `Anthropic(base_url="${url}", api_key="any")`],
      ['ArrowRight', 'Anthropic · JS', `baseURL: "${url}"`], ['ArrowRight', 'Google GenAI · Python', `http_options={"base_url": "${url}"}`],
      ['ArrowRight', 'Claude Code', `export ANTHROPIC_BASE_URL=${url}\nexport ANTHROPIC_AUTH_TOKEN=any`], ['End', 'Codex', 'JACKFIELD_KEY=any codex']]) {
      await page.keyboard.press(key);
      assert.equal(await page.evaluate(() => document.activeElement.textContent), name);
      assert.equal(await page.getByRole('tab', { selected: true }).textContent(), name);
      assert.ok((await code.textContent()).includes(words), words);
    }
    await page.getByRole('tabpanel', { name: 'Codex' }).getByText(`base_url = "${url}/v1"`, { exact: false }).waitFor();
    await page.keyboard.press('ArrowRight');
    assert.match(await code.textContent(), /"model":"claude\/claude-opus-5-5"/);
    await page.getByRole('tabpanel').getByRole('button', { name: 'Copy the code' }).click();
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith('curl '));
    await page.goto(session);
    await ended(page, 0);
    for (const colours of ['dark', 'light']) {
      await personMenu(page);
      await page.getByText('This gateway needs no key.').waitFor();
      await page.getByText(/^Jackfield \d/).waitFor();
      await page.getByRole('combobox', { name: 'Colours' }).selectOption(colours);
      await isAccessible(page);
      await page.keyboard.press('Escape');
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).colorScheme), colours);
      await page.getByRole('button', { name: 'Session actions' }).click();
      await isAccessible(page);
      await shot(page, `menu-${colours}`);
      // Esc closes the menu, and gives the focus back.
      await page.keyboard.press('Escape');
      assert.ok(await page.getByRole('button', { name: 'Delete' }).isHidden());
      await page.waitForFunction(() => document.activeElement.title === 'Session actions');
      for (const place of ['Approvals', 'Use and cost', 'Servers and providers', 'How to connect', 'Users and keys']) {
        await page.getByRole('link', { name: place }).click();
        await page.getByRole('heading', { name: place }).waitFor();
        await page.waitForFunction(() => !document.querySelector('#main .skeleton'));
        await isAccessible(page);
        await shot(page, `${place.toLowerCase().replaceAll(' ', '-')}-${colours}`);
      }
      await page.goto(session);
      await ended(page, 0);
    }
  },

  // What is written during a turn follows its answer; after a reload, a click sends it.
  async queued(browser) {
    const page = await opened(browser);
    await page.goto(url);
    await say(page, 'First');
    await wish('first');
    const field = page.getByRole('textbox', { name: 'Message' });
    const queue = page.getByRole('list', { name: 'Messages that are sent next' }).getByRole('listitem');
    const write = async (text) => {
      await field.fill(text);
      await field.press('Enter');
      await queue.filter({ hasText: text }).waitFor();
      assert.equal(await field.inputValue(), '');
    };
    await write('Second');
    await wish('answer to the first');
    await ended(page, 0);
    await wish('second');
    assert.equal(await page.locator('.asked').nth(1).textContent(), 'Second');
    await write('Third');
    await write('Fourth');
    await shot(page, 'queue');
    await isAccessible(page);
    await queue.nth(1).getByRole('button', { name: 'Back into the field' }).click();
    assert.equal(await field.inputValue(), 'Fourth');
    await field.press('Enter');
    await queue.nth(1).waitFor();
    // Esc in the search of sessions stops nothing.
    await page.getByRole('searchbox').first().press('Escape');
    await page.reload();
    await queue.nth(1).waitFor();
    await wish('answer to the second');
    await ended(page, 1);
    await queue.nth(0).getByRole('button', { name: 'Send' }).click();
    await ended(page, 2);
    assert.equal(await page.locator('.asked').nth(2).textContent(), 'Third');
    assert.deepEqual(await queue.locator('bdi').allTextContents(), ['Fourth']);
    await queue.nth(0).getByRole('button', { name: 'Remove from the queue' }).click();
    // Three messages, each written while the one before is on its way: each is sent once. What is written stays over a retry.
    let written;
    const allWritten = new Promise((resume) => { written = resume; });
    await page.route('**/turns', (route) => allWritten.then(() => route.continue()));
    for (const text of ['Fifth', 'Sixth', 'Seventh']) {
      await field.fill(text);
      await field.press('Enter');
    }
    await field.fill('Not yet');
    written();
    await ended(page, 5);
    await retry(page);
    await ended(page, 0);
    assert.equal(await field.inputValue(), 'Not yet');
    assert.deepEqual(await page.locator('.asked').allTextContents(), ['First', 'Second', 'Third', 'Fifth', 'Sixth', 'Seventh']);
    assert.equal(await queue.count(), 0);
    await page.reload();
    await ended(page, 0);
    assert.equal(await queue.count(), 0);
  },

  // An answer is made again in place, and the one before stays; sessions are pinned and put away.
  async versions(browser) {
    const page = await opened(browser);
    const entries = page.locator('.sessions a');
    const version = (words) => page.getByRole('group', { name: words }).waitFor();
    await page.goto(url);
    await say(page, 'Hi');
    await ended(page, 0);
    const first = page.url();
    await retry(page);
    await page.getByText('Second answer.').waitFor();
    await version('Version 2 of 2');
    await isAccessible(page);
    await page.getByRole('button', { name: 'Previous version' }).click();
    await page.getByText('First answer.').waitFor();
    assert.equal(page.url(), first);
    await version('Version 1 of 2');
    assert.ok(await page.getByRole('button', { name: 'Previous version' }).isDisabled());
    await page.locator('.title').getByText('Archived').waitFor();
    await page.getByRole('button', { name: 'Next version' }).click();
    await page.getByText('Second answer.').waitFor();
    await retry(page);
    await page.getByText('Third answer.').waitFor();
    await version('Version 3 of 3');
    await page.waitForFunction(() => document.querySelectorAll('.sessions a').length === 1);
    // What a call did may be done a second time.
    await say(page, 'Pay.');
    await page.getByText('It is paid.').waitFor();
    await ended(page, 1);
    await page.getByRole('button', { name: 'Retry' }).last().click();
    const question = page.getByRole('dialog', { name: 'These tools may act a second time: bank__pay. Answer again?' });
    await question.getByRole('button', { name: 'Cancel' }).click();
    const paid = page.url();
    await page.getByRole('button', { name: 'Retry' }).last().click();
    await question.getByRole('button', { name: 'Retry' }).click();
    await page.getByText('It was paid before.').waitFor();
    await version('Version 2 of 2');
    assert.deepEqual(await page.locator('.history .asked').allTextContents(), ['Hi']);
    // One that is used again comes back.
    await page.goto(paid);
    await page.locator('.title').getByText('Archived').waitFor();
    await say(page, 'Thanks.');
    await ended(page, 2);
    await page.locator('.title .chip').waitFor({ state: 'detached' });
    await entries.nth(1).waitFor();
    const menu = async (line) => {
      await page.getByRole('button', { name: 'Session actions' }).click();
      await page.getByRole('button', { name: line, exact: true }).click();
    };
    await menu('Pin');
    await page.locator('.sessions').getByRole('heading', { name: 'Pinned' }).waitFor();
    await isAccessible(page);
    await page.reload();
    await page.locator('.sessions').getByRole('list', { name: 'Pinned' }).waitFor();
    await menu('Unpin');
    await page.locator('.sessions').getByRole('heading', { name: 'Pinned' }).waitFor({ state: 'detached' });
    await menu('Archive');
    await page.locator('.title .chip').waitFor();
    await entries.nth(1).waitFor({ state: 'detached' });
    await page.locator('#sessions').getByRole('button', { name: 'Archived' }).click();
    await entries.nth(2).waitFor();
    await isAccessible(page);
    await page.locator('#sessions').getByRole('button', { name: 'All sessions' }).click();
    await entries.nth(1).waitFor({ state: 'detached' });
  },

  // More tabs than a browser has connections for one host, each with another session, all seen at once.
  async tabs(browser) {
    const first = await opened(browser);
    const pages = [first];
    while (pages.length < 8) pages.push(await first.context().newPage());
    const sessions = [];
    for (const page of pages) {
      const { id } = await api('POST', '/sessions');
      sessions.push(id);
      await page.goto(`${url}/#/sessions/${id}`);
      await page.getByRole('textbox', { name: 'Message' }).waitFor();
    }
    // Each shows the answers to what another program sends.
    let sent = 0;
    const allFollow = async () => {
      for (const [nth, page] of pages.entries()) {
        if (page.isClosed()) continue;
        sent += 1;
        await api('POST', `/sessions/${sessions[nth]}/turns`, { message: 'Go on' });
        await page.getByText(`Answer ${sent}.`, { exact: true }).first().waitFor();
      }
    };
    await allFollow();
    await api('POST', `/sessions/${sessions[0]}/turns`, { message: 'What is 6*7?', mode: 'background' });
    for (const page of pages) await page.waitForFunction(() => document.title.startsWith('(1) '));
    await first.getByRole('button', { name: 'Allow once' }).click();
    for (const page of pages) await page.waitForFunction(() => !document.title.startsWith('('));
    await ended(first, 1);
    await first.close();
    await allFollow();
    // A second tab of a session shows the same, and what follows in it.
    pages[0] = await pages[1].context().newPage();
    sessions[0] = sessions[1];
    await pages[0].goto(`${url}/#/sessions/${sessions[1]}`);
    await ended(pages[0], 1);
    await allFollow();
    await ended(pages[0], 3);
    await ended(pages[1], 3);
    assert.equal(await pages[0].locator('.log').textContent(), await pages[1].locator('.log').textContent());
    isAway = true;
    await wish('kill');
    const away = (page) => page.locator('.connection').getByText('The gateway cannot be reached');
    for (const page of pages) await away(page).waitFor();
    await wish('start');
    for (const page of pages) await away(page).waitFor({ state: 'detached' });
    await allFollow();
  },

  async options(browser) {
    const page = await opened(browser, { viewport: { width: 1280, height: 900 } });
    const chip = (one = page) => one.locator('.composer').getByRole('button', { name: 'Instructions and limits' });
    const form = page.getByRole('dialog', { name: 'Instructions and limits of this session' });
    const open = async () => {
      if (page.url().includes('/sessions/')) await page.getByRole('button', { name: 'Session actions' }).click();
      await page.getByRole('button', { name: 'Instructions and limits', exact: true }).first().click();
      await form.waitFor();
    };
    // The settings of a session that has no message yet stay over a reload.
    await page.goto(url);
    await open();
    assert.ok(await form.getByLabel('Instructions').evaluate((one) => one === document.activeElement));
    await form.getByLabel('Instructions').fill('Answer in rhymes.');
    await form.getByLabel('Effort').selectOption('high');
    await form.getByLabel('Rounds of a turn').fill('0');
    await form.getByRole('button', { name: 'Save' }).click();
    assert.ok(await form.getByLabel('Rounds of a turn').evaluate((one) => !one.validity.valid));
    await form.getByLabel('Rounds of a turn').fill('4');
    await form.getByLabel('Minutes of a turn').fill('1.5');
    await shot(page, 'options');
    await isAccessible(page);
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    await chip().getByText('instructions · effort: high · at most 4 rounds · at most 1.5 min').waitFor();
    await shot(page, 'options-chip');
    await isAccessible(page);
    await page.reload();
    await chip().getByText('instructions · effort: high').waitFor();
    // A message that waits keeps those that it was written with; what is changed meanwhile is for the next one.
    await say(page, 'First');
    await wish('first');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    const field = page.getByRole('textbox', { name: 'Message' });
    await field.fill('Second');
    await field.press('Enter');
    await page.locator('.queue li', { hasText: 'Second' }).waitFor();
    await chip().click();
    await form.getByLabel('Instructions').fill('Answer in prose.');
    await form.getByLabel('Effort').selectOption('');
    await form.getByRole('button', { name: 'Save' }).click();
    await wish('answer to the first');
    await ended(page, 1);
    await say(page, 'Third');
    await ended(page, 2);
    const session = page.url();
    // Another browser, which was given nothing, goes on as the last turn was.
    const other = await opened(browser, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await other.goto(session);
    await ended(other, 2);
    await chip(other).getByText('instructions · at most 4 rounds · at most 1.5 min').waitFor();
    await fits(other);
    await isAccessible(other);
    await chip(other).click();
    await shot(other, 'phone-options');
    await fits(other);
    await other.keyboard.press('Escape');
    await say(other, 'Fourth');
    await ended(other, 3);
    // A fork takes them over, and so does a message that is written again before the first turn.
    await page.locator('.turn').nth(1).getByRole('button', { name: 'Edit' }).first().click();
    await page.waitForFunction((old) => location.href !== old, session);
    await chip().getByText('instructions · at most 4 rounds').waitFor();
    await page.goto(session);
    await ended(page, 3);
    await page.locator('.turn').first().getByRole('button', { name: 'Edit' }).first().click();
    await page.waitForFunction(() => location.hash === '#/new');
    await chip().getByText('instructions · at most 4 rounds').waitFor();
    // What the gateway refuses is named at its field.
    await page.route('**/turns', (route) => route.fulfill({ status: 400, contentType: 'application/problem+json',
      body: JSON.stringify({ type: 'urn:jackfield:problem:invalid', status: 400, detail: 'too many rounds', pointer: '/limits/rounds' }) }), { times: 1 });
    await refused(page, 400, () => field.press('Enter'));
    await form.getByText('too many rounds').waitFor();
    assert.equal(await form.getByLabel('Rounds of a turn').getAttribute('aria-invalid'), 'true');
    assert.ok(await form.getByLabel('Rounds of a turn').evaluate((one) => one === document.activeElement));
    for (const name of ['Instructions', 'Minutes of a turn', 'Rounds of a turn']) await form.getByLabel(name).fill('');
    await form.getByRole('button', { name: 'Save' }).click();
    await chip().waitFor({ state: 'detached' });
    await page.reload();
    await page.waitForFunction(() => document.querySelector('.composer textarea')?.value === 'First');
    assert.equal(await chip().count(), 0);
  },

  async prompts(browser) {
    const page = await opened(browser, { viewport: { width: 1280, height: 900 } });
    const asked = [];
    page.on('request', (request) => /\/(complete|prompts)$/.test(request.url()) && asked.push(new URL(request.url()).pathname));
    await page.goto(url);
    const field = page.getByRole('textbox', { name: 'Message' });
    const menu = page.getByRole('listbox', { name: 'Prompts of servers' });
    const options = menu.getByRole('option');
    const active = () => page.evaluate(() => document.getElementById(document.querySelector('.composer textarea').getAttribute('aria-activedescendant'))?.querySelector('.tool').textContent);
    const holds = (text) => page.waitForFunction((wanted) => document.querySelector('.composer textarea').value === wanted, text);
    await field.pressSequentially('a/');
    assert.deepEqual(asked, []);
    await field.fill('');
    // A server that does not start is named, and stops no other one.
    await refused(page, 404, () => field.press('/'));
    await page.getByText(/^No answer: gone: /).waitFor();
    await page.getByText(/^and [\d,]+ more$/).waitFor();
    assert.equal(await options.count(), 50);
    await page.waitForFunction(() => !document.querySelector('.prompts').textContent.includes('are asked'));
    // What a server writes is text, in short, with its hidden letters named.
    await field.pressSequentially('evil:0');
    assert.match(await options.first().textContent(), /⟨U\+202E right-to-left override⟩<b>title<\/b>/);
    assert.ok((await options.first().textContent()).length < 1_000);
    await shot(page, 'prompts-hostile');
    await fits(page);
    await field.fill('/');
    await field.pressSequentially('notes:');
    assert.deepEqual(await options.locator('.tool').allTextContents(), ['/notes:greet', '/notes:picture', '/notes:talk']);
    await shot(page, 'prompts');
    await isAccessible(page);
    for (const [key, name] of [['ArrowDown', '/notes:picture'], ['ArrowUp', '/notes:greet'], ['ArrowUp', '/notes:talk']]) {
      await field.press(key);
      assert.equal(await active(), name);
    }
    // Esc closes it and leaves the text.
    await field.press('Escape');
    assert.equal(await menu.count(), 0);
    await holds('/notes:');
    // A prompt of several messages, by the pointer; its model is marked as the terminal does.
    await field.fill('/');
    await field.pressSequentially('talk');
    await options.first().click();
    await holds('Hello?\n<assistant>\nYes?\n</assistant>\n[resource: Guide <note://guide>]');
    // What is no text is an attachment, or is named.
    await field.fill('/');
    await field.pressSequentially('pic');
    await field.press('Tab');
    await holds('Look.');
    await page.getByText('Left out of the prompt: note://zip application/zip').waitFor();
    assert.deepEqual(await page.locator('.files bdi').allTextContents(), ['image/png', 'note://text']);
    for (const name of ['image/png', 'note://text']) await page.getByRole('button', { name: `Remove ${name}` }).click();
    // Arguments are asked for, with those that are there already, and what the server suggests.
    await field.fill('');
    await field.pressSequentially('/greet Ann mood="very glad"');
    await field.press('Enter');
    const form = page.getByRole('dialog', { name: '/notes:greet' });
    const who = form.getByLabel('Who *');
    assert.deepEqual([await who.inputValue(), await form.getByLabel('mood').inputValue()], ['Ann', 'very glad']);
    await who.fill('');
    await form.getByRole('button', { name: 'Insert' }).click();
    assert.ok(await who.evaluate((one) => !one.validity.valid));
    await who.pressSequentially('Mi');
    await page.waitForFunction(() => [...document.querySelectorAll('datalist option')].map((one) => one.value).join() === 'Mia,Mick');
    await who.pressSequentially('a');
    await isAccessible(page);
    await shot(page, 'prompt-arguments');
    await form.getByRole('button', { name: 'Insert' }).click();
    await holds('Greet Mia, who is very glad.');
    assert.ok(await field.evaluate((one) => one === document.activeElement));
    // It is sent by the person; and what names no prompt is sent as it is.
    await field.press('Enter');
    await ended(page, 0);
    await field.pressSequentially('/etc/hosts is broken');
    await field.press('Enter');
    await ended(page, 1);
    assert.equal(await page.locator('.asked').last().textContent(), '/etc/hosts is broken');
    const phone = await opened(browser, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await phone.goto(url);
    isAway = true;
    await phone.getByRole('textbox', { name: 'Message' }).press('/');
    await phone.getByText(/^No answer: gone: /).waitFor();
    isAway = false;
    await shot(phone, 'phone-prompts');
    await fits(phone);
    await isAccessible(phone);
  },

  async found(browser) {
    const page = await opened(browser, { viewport: { width: 1280, height: 700 } });
    await page.goto(url);
    await say(page, 'Where is Porto?');
    await ended(page, 0);
    await say(page, 'And the rain in porto?');
    await ended(page, 1);
    const bar = page.getByRole('search');
    const field = page.getByRole('searchbox', { name: 'Search in this session' });
    const marked = (name) => page.evaluate((one) => [...(CSS.highlights.get(one) || [])].map(String), name);
    const says = (text) => bar.getByText(text, { exact: true }).waitFor();
    // From the search at the side, with its words: across tags, in any case, and also where it is folded.
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('PORTO');
    await page.locator('.sessions a[href$="/PORTO"]').click();
    await says('1 of 6');
    assert.equal(await field.inputValue(), 'PORTO');
    assert.deepEqual(await marked('found'), ['Porto', 'porto', 'Porto', 'porto', 'porto', 'PORTO']);
    await shot(page, 'found');
    await isAccessible(page);
    const card = page.locator('.call');
    const reasoning = page.locator('details.reasoning');
    const isSeen = () => page.waitForFunction(() => {
      const [hit] = CSS.highlights.get('found-now');
      const [place, frame] = [hit.getBoundingClientRect(), document.querySelector('.scroll').getBoundingClientRect()];
      return place.height > 0 && place.top >= frame.top && place.bottom <= frame.bottom;
    });
    await isSeen();
    await field.press('Enter');
    await says('2 of 6');
    assert.ok(await reasoning.evaluate((one) => one.open));
    await isSeen();
    await field.press('Enter');
    assert.ok(!(await reasoning.evaluate((one) => one.open)));
    await says('3 of 6');
    assert.deepEqual(await marked('found-now'), ['Porto']);
    await field.press('Enter');
    await bar.getByRole('button', { name: 'Next hit' }).click();
    await says('5 of 6');
    assert.ok(await card.locator('.body').isVisible());
    await isSeen();
    await bar.getByRole('button', { name: 'Next hit' }).click();
    await says('6 of 6');
    await bar.getByRole('button', { name: 'Next hit' }).click();
    await says('1 of 6');
    assert.ok(await card.locator('.body').isHidden());
    await field.press('Shift+Enter');
    await says('6 of 6');
    await field.fill('nowhere');
    await says('Nothing found.');
    assert.deepEqual(await marked('found'), []);
    // Esc closes it and gives the focus back, where the bar was opened.
    await field.press('Escape');
    assert.equal(await bar.count(), 0);
    assert.ok(!page.url().includes('PORTO'));
    const message = page.getByRole('textbox', { name: 'Message' });
    await message.focus();
    await page.keyboard.press('Control+Shift+F');
    await field.fill('porto');
    await says('1 of 6');
    // New text is searched, and the reader stays at the hit.
    await field.press('Enter');
    await api('POST', `/sessions/${page.url().split('/').pop()}/turns`, { message: 'porto' });
    await says('2 of 8');
    await field.press('Escape');
    assert.ok(await message.evaluate((one) => one === document.activeElement));
    assert.deepEqual(await marked('found'), []);
    const phone = await opened(browser, { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await phone.goto(`${page.url()}/porto`);
    await phone.getByText('1 of 8').waitFor();
    await shot(phone, 'phone-found');
    await fits(phone);
    await isAccessible(phone);
    // A browser that marks nothing selects the current hit.
    const older = await opened(browser);
    await older.addInitScript(() => Object.defineProperty(CSS, 'highlights', { value: undefined }));
    await older.goto(`${page.url()}/porto`);
    const olderField = older.getByRole('searchbox', { name: 'Search in this session' });
    await older.getByText('1 of 8').waitFor();
    await olderField.press('Enter');
    await older.getByText('2 of 8').waitFor();
    await olderField.press('Enter');
    await older.getByText('3 of 8').waitFor();
    assert.equal(await older.evaluate(() => getSelection().toString()), 'Porto');
  },

  // Code has colours and a formula its form; prices stay prices, and a text says where it turns its direction.
  async shapes(browser) {
    const page = await opened(browser);
    await page.goto(url);
    await say(page, 'Show me');
    await ended(page, 0);
    const text = page.locator('.turn .text.rendered').last();
    assert.equal(await text.locator('.code .k').first().textContent(), 'fn');
    assert.equal(await text.locator('.code code').textContent(), 'fn main() { println!("<b>"); }\n');
    assert.deepEqual(await text.locator('math').evaluateAll((all) => all.map((one) => one.textContent.trim())), ['x2', 'a+b']);
    assert.ok(await text.locator('.formula math').isVisible());
    assert.match(await text.textContent(), /from \$5 to \$10/);
    assert.match(await text.getByRole('link').textContent(), /good⟨U\+202E right-to-left override⟩moc\.live/);
    assert.equal(await page.locator('b').count(), 0);
    await isAccessible(page);
    await shot(page, 'shapes');
  },

  // Conversations of another program come along once, and go on here; what cannot be read is named.
  async imports(browser) {
    const node = (id, parent, role, parts) => ({ id, parent, children: [], message: { author: { role }, content: { content_type: 'text', parts } } });
    const talk = (id, title, at) => ({ id, title, create_time: at, current_node: 'c', mapping: {
      a: { id: 'a', parent: null, children: ['b'], message: null },
      b: node('b', 'a', 'user', [`A question on ${title}`]),
      c: node('c', 'b', 'assistant', ['**Well** said.']),
    } });
    const file = { name: 'conversations.json', mimeType: 'application/json', buffer: Buffer.from(JSON.stringify([
      talk('1', 'Travel', 1746230400), talk('2', 'Cooking', 1746316800), { id: '3', title: 'Broken', mapping: 7 },
    ])) };
    const page = await opened(browser);
    await page.goto(url);
    const bring = async () => {
      await personMenu(page);
      await page.getByRole('button', { name: 'Bring conversations along…' }).click();
      await page.getByRole('dialog').locator('input[type=file]').setInputFiles(file);
    };
    await bring();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('checkbox', { name: 'Cooking' }).waitFor();
    await isAccessible(page);
    await shot(page, 'import');
    await dialog.getByRole('button', { name: 'Import 3' }).click();
    await dialog.getByText('Imported: 2').waitFor();
    await dialog.getByText('Broken').waitFor();
    await isAccessible(page);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.locator('.sessions').getByText('Travel').click();
    await page.getByText('A question on Travel').first().waitFor();
    await page.getByText('Well said.').waitFor();
    await page.getByText(/^From ChatGPT, /).waitFor();
    await say(page, 'And then?');
    await ended(page, 0);
    await bring();
    await dialog.getByRole('button', { name: 'Import 3' }).click();
    await dialog.getByText('There already: 2').waitFor();
  },

  // A browser that stores nothing has the whole page, but for what it would keep.
  async nothing_stored(browser) {
    const page = await opened(browser);
    await page.addInitScript(() => {
      for (const name of ['getItem', 'setItem', 'removeItem']) Storage.prototype[name] = () => { throw new DOMException('No', 'SecurityError'); };
    });
    await page.goto(url);
    await say(page, 'Hi');
    await ended(page, 0);
    await page.locator('.person').click();
    await page.getByRole('combobox', { name: 'Colours' }).selectOption('dark');
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).colorScheme), 'dark');
  },

  // Who answers by keyboard goes from one question to the next.
  async keyboard(browser) {
    const page = await opened(browser);
    await page.goto(url);
    await say(page, 'Two calls');
    const allow = page.getByRole('button', { name: 'Allow once' });
    await allow.nth(1).waitFor();
    await allow.nth(0).focus();
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement.closest('.card') === document.querySelectorAll('.card')[1]);
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.activeElement.matches('.composer textarea'));
    await ended(page, 0);
  },

  // What a tool gives is shown as what it is, and Esc stops a turn.
  async hostile(browser) {
    const { id: session } = await api('POST', '/sessions');
    const tools = [{ name: 'mine', input_schema: { type: 'object' } }];
    const page = await opened(browser, { viewport: { width: 390, height: 844 } });
    const results = [
      { text: `<script>document.title = 'run'</script>\u001b[31mred\u001b[0m \u202Egnp.exe \u{e0041}👩\u200d👧 \u061c\u200cب ب\u200cب ${'long '.repeat(200_000)}` },
      { structured: [{ city: 'Porto', rain: true }, { city: '<b>Oslo</b>', rain: false }] },
      { content: [{ type: 'image', media_type: 'image/png', data: PIXEL }] },
      { text: 'javascript:document.title = 1', is_error: true },
    ];
    for (const [nth, result] of results.entries()) {
      const turn = await api('POST', `/sessions/${session}/turns`, { message: `Result ${nth}`, tools });
      if (nth === 0) {
        await page.goto(`${url}/#/sessions/${session}`);
        await page.locator('.card[data-state=waiting]').waitFor();
      }
      await api('POST', `/sessions/${session}/turns/${turn.id}/results`, { results: [{ call: turn.waits[0].call, ...result }] });
    }
    await ended(page, 3);
    const cards = page.locator('.card');
    await unfold(cards.nth(0));
    const text = await cards.nth(0).textContent();
    assert.ok(text.length < 10_000, `${text.length} characters`);
    assert.match(text, /<script>document\.title = 'run'<\/script>␛\[31mred␛\[0m ⟨U\+202E right-to-left override⟩gnp\.exe ⟨U\+E0041 tag letter⟩👩\u200d👧 ⟨U\+061C Arabic letter mark⟩⟨U\+200C zero-width non-joiner⟩ب ب\u200cب/u);
    await page.getByRole('button', { name: /^Show all/ }).click();
    assert.ok((await cards.nth(0).textContent()).length > 900_000);
    assert.equal(await cards.nth(1).locator('td').nth(2).textContent(), '<b>Oslo</b>');
    assert.equal(await cards.nth(2).locator('img').evaluate((image) => image.decode().then(() => image.naturalWidth)), 1);
    assert.equal(await cards.nth(3).getAttribute('data-state'), 'failed');
    assert.equal(await page.locator('script:not([type=module])').count(), 0);
    assert.doesNotMatch(await page.title(), /run/);
    await unfold(cards.nth(1));
    await fits(page);
    await page.locator('.scroll').evaluate((scroll) => scroll.scrollTo(0, scroll.scrollHeight));
    await shot(page, 'results');
    await isAccessible(page);
    // A message without tools.
    await page.locator('.tool-choice summary').click();
    await isAccessible(page);
    await shot(page, 'tools');
    await page.getByRole('checkbox', { name: 'builtin' }).uncheck();
    await page.keyboard.press('Escape');
    const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().endsWith('/turns'));
    await say(page, 'Never stop');
    assert.deepEqual((await sent).postDataJSON().server_tools, []);
    await wish('stuck');
    await page.getByRole('button', { name: 'Stop' }).waitFor();
    await page.keyboard.press('Escape');
    await ended(page, 4);
    await page.locator('.turn').nth(4).getByText('Cancelled').waitFor();
    // The last message again.
    await retry(page);
    await page.getByText('It stops.').first().waitFor();
    await ended(page, 0);
    // An image and a text file, which are sent again with a retry.
    const files = [['dot.png', 'image/png', Buffer.from(PIXEL, 'base64')], ['notes.txt', 'text/plain', Buffer.from('Buy bread.')]];
    await page.locator('input[type=file]').setInputFiles(files.map(([name, mimeType, buffer]) => ({ name, mimeType, buffer })));
    await page.getByText('notes.txt').waitFor();
    await isAccessible(page);
    await say(page, 'What is this?');
    await page.getByText('A dot and a list.').first().waitFor();
    await ended(page, 1);
    assert.equal(await page.locator('.asked img').count(), 1);
    assert.equal(await page.locator('.files li').count(), 0);
    await retry(page);
    await page.getByText('Again a dot and a list.').first().waitFor();
    await ended(page, 0);
    assert.equal(await page.locator('.asked img').count(), 1);
    // A session that is deleted.
    const last = page.url();
    isAway = true;
    await page.getByRole('button', { name: 'Session actions' }).click();
    await surely(page, page.getByRole('button', { name: 'Delete' }));
    // The version before is back in its place.
    await page.waitForFunction((gone) => location.href !== gone, last);
    await page.getByText('A dot and a list.').first().waitFor();
    await page.locator('.title .chip').waitFor({ state: 'detached' });
    await page.goto(last);
    await page.getByText('There is no such session.').waitFor();
    assert.ok(await page.locator('.composer').isHidden());
    await page.locator('.empty').getByRole('link', { name: 'New session' }).waitFor();
  },

  // A server that died with a call: the person decides, twice.
  async cached(browser) {
    const page = await opened(browser);
    await page.goto(url);
    await say(page, 'Search.');
    await ended(page, 0);
    await say(page, 'Search again.');
    await ended(page, 1);
    const links = page.locator('.turn .card').getByRole('link', { name: 'cached' });
    assert.equal(await links.count(), 1);
    const link = page.locator('.turn .card').nth(1).getByRole('link', { name: 'cached' });
    assert.equal(await link.getAttribute('href'), new URL(page.url()).hash);
    assert.match(await link.getAttribute('title'), /^Result of call call_\w+ in turn turn_\w+ of session /);
    await isAccessible(page);
    // The same after a reload.
    await page.reload();
    await ended(page, 1);
    assert.equal(await links.count(), 1);
    await shot(page, 'cached');
  },

  async unknown(browser) {
    const page = await opened(browser, { viewport: { width: 800, height: 700 } });
    await page.goto(url);
    await say(page, 'Pay 7');
    const card = page.locator('.card');
    const again = card.getByRole('button', { name: 'Run again' });
    await again.waitFor();
    await card.locator('.state', { hasText: 'outcome unknown' }).first().waitFor();
    // The name of the tool says which server it is of.
    assert.equal(await card.getByText('at bank').count(), 0);
    // The safe answer stands first, and is the one that stands out.
    assert.deepEqual(await card.locator('.question button').allTextContents(), ['Do not run; tell the model', 'Run again']);
    assert.equal(await card.locator('.question button.primary').textContent(), 'Do not run; tell the model');
    await shot(page, 'unknown');
    await isAccessible(page);
    // A call that may act is asked about once more, with what its tool does.
    await again.click();
    await card.getByText('“bank__pay” may act a second time.').waitFor();
    await card.getByText('Pays.', { exact: true }).waitFor();
    await shot(page, 'unknown-sure');
    await isAccessible(page);
    await page.keyboard.press('Escape');
    const first = await again.elementHandle();
    await again.click();
    await card.getByRole('button', { name: 'Run it a second time' }).click();
    await page.waitForFunction((old) => !old.isConnected, first);
    await card.getByRole('button', { name: 'Do not run' }).click();
    await ended(page, 0);
    assert.equal(await card.getAttribute('data-state'), 'unknown');
    await shot(page, 'unknown-told');
    // The log of the server.
    await page.goto(`${url}/#/servers`);
    const log = page.locator('.card', { hasText: 'bank' }).locator('details').last();
    await log.locator('summary').click();
    await log.locator('.value, .dim').first().waitFor();
    await shot(page, 'servers-log');
    await isAccessible(page);
    // The routes, and what `jackfield doctor` says.
    const route = page.locator('table', { hasText: 'best' }).getByRole('row', { name: 'claude/claude-opus-5-5' });
    await route.getByText('in use').waitFor();
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    const check = page.locator('.checks [data-verdict=failed]', { hasText: '`gone`: there is no program' });
    await check.waitFor();
    await page.locator('.checks [data-verdict=ok]', { hasText: '`bank` offers 1 tool' }).waitFor();
    await check.scrollIntoViewIfNeeded();
    await shot(page, 'doctor');
    await isAccessible(page);
    // Budgets: a team's.
    await api('POST', '/teams', { name: 'red' });
    await api('PATCH', '/teams/red', { quota: { tokens_per_day: 5000, cost_per_month: '12.5' } });
    await page.goto(`${url}/#/usage`);
    await page.getByRole('row', { name: 'Team red day 5,000 tokens 0 tokens' }).waitFor();
    await page.getByRole('row', { name: 'Team red month $12.50' }).waitFor();
    await shot(page, 'budgets');
    await isAccessible(page);
  },

  // What the server of a tool asks: the fields of its schema, and nothing of its texts runs.
  async form(browser) {
    const page = await opened(browser, { viewport: { width: 800, height: 900 } });
    await page.goto(url);
    await say(page, 'Book a train');
    const card = page.locator('.card');
    await card.getByText('When do you <i>travel</i>?').waitFor();
    await page.locator('#places .waiting').waitFor();
    const answer = card.getByRole('button', { name: 'Answer' });
    // What is required is asked for by the browser.
    await answer.click();
    await card.getByLabel('Day <b>of</b> travel *').fill('2026-12-24');
    await card.getByLabel('seats *').fill('2');
    await card.getByLabel('class').selectOption({ label: 'Second' });
    await card.getByRole('checkbox', { name: 'window' }).uncheck();
    await card.getByRole('checkbox', { name: 'rice' }).check();
    await shot(page, 'form');
    await isAccessible(page);
    await answer.click();
    await ended(page, 0);
    await page.getByText('It is booked.').first().waitFor();
  },

  // How far a running call is, also after a reload.
  async progress(browser) {
    const page = await opened(browser, { viewport: { width: 800, height: 700 } });
    await page.goto(url);
    await say(page, 'Read the books');
    const card = page.locator('.card');
    await card.getByText('30% · reading <b>page</b> 3').waitFor();
    await page.reload();
    await card.getByText('30% · reading <b>page</b> 3').waitFor();
    assert.equal(await card.getByRole('progressbar').getAttribute('value'), '3');
    await shot(page, 'progress');
    await isAccessible(page);
    await page.keyboard.press('Escape');
    await ended(page, 0);
    assert.equal(await card.getByRole('progressbar').count(), 0);
  },

  // A session of 1,000 messages opens at once.
  async long(browser) {
    const { id: session } = await api('POST', '/sessions');
    for (let nth = 1; nth <= 500; nth += 1) await api('POST', `/sessions/${session}/turns`, { message: `Message ${nth}` });
    const page = await opened(browser, { viewport: { width: 1280, height: 900 } });
    await page.goto(url);
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    const took = await page.evaluate((address) => new Promise((done) => {
      const began = performance.now();
      location.hash = address;
      const look = () => {
        const all = document.querySelectorAll('.turn[data-status=ended]').length;
        if (all === 500) done(performance.now() - began);
        else requestAnimationFrame(look);
      };
      look();
    }), `#/sessions/${session}`);
    console.log(`1,000 messages are open after ${Math.round(took)} ms`);
    // Machines of a CI are slow; the aim is 500 ms.
    assert.ok(took < 5_000, `${took} ms`);
    await page.getByText('Message 500').last().waitFor();
    // It goes to the end.
    await page.waitForFunction(() => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector('.scroll');
      return scrollHeight - scrollTop - clientHeight < 100;
    });
    // A search in all of it stops the page for no longer than a moment.
    await page.keyboard.press('Control+Shift+F');
    const field = page.getByRole('searchbox', { name: 'Search in this session' });
    await field.waitFor();
    const [found, longest] = await page.evaluate(() => new Promise((done) => {
      const input = document.querySelector('.find input');
      input.value = 'an';
      const began = performance.now();
      let [before, most] = [began, 0];
      input.dispatchEvent(new Event('input'));
      const look = () => {
        const now = performance.now();
        most = Math.max(most, now - before);
        before = now;
        if (document.querySelector('.find [role=status]').textContent) done([now - began, most]);
        else setTimeout(look);
      };
      look();
    }));
    console.log(`the search took ${Math.round(found)} ms, of which 300 ms are a pause; the page stood for ${Math.round(longest)} ms at most`);
    assert.ok(longest < 1_000, `${longest} ms`);
    await page.getByText('1 of 1,000+').waitFor();
    await field.press('Enter');
    await page.getByText('2 of 1,000+').waitFor();
  },

  async login(browser) {
    const page = await opened(browser, { viewport: { width: 390, height: 844 } });
    await page.goto(url);
    await page.getByLabel('API key').waitFor();
    await fits(page);
    await shot(page, 'login');
    await isAccessible(page);
    await page.getByLabel('API key').fill('wrong-0123456789abcdef');
    await refused(page, 401, async () => {
      await page.keyboard.press('Enter');
      await page.getByText('does not know this key').waitFor();
    });
    await page.getByLabel('API key').fill('page-0123456789abcdef');
    await page.keyboard.press('Enter');
    await say(page, 'Hello');
    await ended(page, 0);
    const [cookie] = await page.context().cookies(`${url}/api/v1`);
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.path], [true, 'Strict', '/api/v1']);
    assert.doesNotMatch(cookie.value, /page-0123/);
    const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
    assert.doesNotMatch(stored, /0123456789abcdef/);
    await page.reload();
    await ended(page, 0);
    // The sign-out forgets what was not sent.
    await page.getByRole('textbox', { name: 'Message' }).fill('A secret of mine');
    await page.waitForFunction(() => JSON.stringify({ ...localStorage }).includes('A secret of mine'));
    await page.getByRole('button', { name: 'Menu' }).click();
    // What the page asks before it is loaded again is refused.
    await personMenu(page);
    isAway = true;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify({ ...localStorage })), /secret of mine/);
  },

  async server_sign_in(browser) {
    const page = await opened(browser, { viewport: { width: 1280, height: 900 } });
    await keyIn(page, process.env.JACKFIELD_KEY);
    await page.goto(`${url}/#/own`);
    const card = page.locator('.card', { hasText: 'http://' });
    provider = (await card.locator('p').first().textContent()).replace('/mcp', '/authorize');
    await shot(page, 'own-server');
    await isAccessible(page);
    await card.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('You are signed in at tracker.').waitFor();
    // The code stays nowhere.
    assert.equal(page.url(), `${url}/#/own`);
    await card.getByText('signed in', { exact: true }).waitFor();
    await shot(page, 'own-server-signed-in');
    await page.goto(`${url}/#/new`);
    await say(page, 'Is it open?');
    await ended(page, 0);
    await page.getByText('It is open.').waitFor();
    await page.goto(`${url}/#/own`);
    await card.getByRole('button', { name: 'Sign out' }).click();
    await card.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    // An answer to no sign-in is refused.
    await refused(page, 404, async () => {
      await page.goto(`${url}/?code=x&state=y`);
      await page.getByText('no sign-in of yours waits for this answer').waitFor();
    });
    assert.equal(page.url(), `${url}/#/own`);
  },

  // An administrator makes a user and a key, and the user finds its own things, until it is disabled.
  async first_key(browser) {
    const page = await opened(browser, { viewport: { width: 1280, height: 1000 } });
    await page.goto(url);
    await page.getByRole('link', { name: 'Users and keys' }).click();
    const keys = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Keys', exact: true }) });
    const users = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Users', exact: true }) });
    await users.getByRole('button', { name: 'Add a user' }).click();
    await fillIn(page, { Name: 'ann' }, 'Add a user');
    await users.getByRole('row', { name: 'ann' }).waitFor();
    await keys.getByRole('button', { name: 'Make a key' }).click();
    const form = page.getByRole('dialog');
    await form.getByText('From now on this gateway needs a key').waitFor();
    const isAdmin = form.getByRole('checkbox', { name: 'Administrator' });
    assert.ok(await isAdmin.isChecked() && await isAdmin.isDisabled());
    await isAccessible(page);
    await fillIn(page, { User: 'ann' }, 'Make a key');
    const secret = await page.getByLabel('Secret').inputValue();
    assert.match(secret, /^jk_/);
    await keys.getByRole('row', { name: 'ann' }).getByText('Administrator', { exact: false }).waitFor();
    // Programs need the key, too.
    await keys.getByText('export JACKFIELD_KEY', { exact: false }).waitFor();
    await shot(page, 'first-key');
    await isAccessible(page);
    assert.ok(await page.locator('#login').isHidden());
    // The page begins anew, with the maker signed in.
    await Promise.all([page.waitForEvent('load'), page.getByRole('button', { name: 'Done' }).click()]);
    // The maker is signed in, and may make the next key, which is nobody's by itself.
    await personMenu(page);
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await page.keyboard.press('Escape');
    await take(page, 'ann', 'Make a key');
    await page.waitForFunction(() => document.activeElement.closest('dialog form'));
    assert.equal(await form.getByRole('combobox', { name: 'User', exact: true }).inputValue(), 'ann');
    assert.ok(await isAdmin.isEnabled() && !(await isAdmin.isChecked()));
    // Others need a key from now on, and this one is an administrator's.
    const other = await opened(browser);
    await keyIn(other, secret);
    await other.getByRole('link', { name: 'Users and keys' }).waitFor();
  },

  async people(browser) {
    const admin = await opened(browser, { viewport: { width: 1280, height: 1000 } });
    await keyIn(admin, 'page-0123456789abcdef');
    await admin.getByRole('link', { name: 'Users and keys' }).click();
    assert.equal(await admin.getByRole('link', { name: 'My keys and servers' }).count(), 0);
    const section = (page, name) => page.locator('section').filter({ has: page.getByRole('heading', { name, exact: true }) });
    // Opens a form, fills it in and sends it, until it is gone.
    const send = async (place, title, values, submit = title) => {
      await place.getByRole('button', { name: title, exact: true }).click();
      await fillIn(place.page(), values, submit);
      await place.page().getByRole('dialog').waitFor({ state: 'detached' });
    };
    await send(section(admin, 'Teams'), 'Add a team', { Name: 'research' });
    await section(admin, 'Teams').getByRole('row', { name: 'research' }).waitFor();
    const users = section(admin, 'Users');
    await send(users, 'Add a user', { Name: 'ann' });
    const ann = users.getByRole('row', { name: 'ann' });
    await take(admin, 'ann', 'Team');
    await fillIn(admin, { Team: 'research' }, 'Save');
    await ann.getByText('research').waitFor();
    // What is wrong stands in the form.
    await refused(admin, 400, async () => {
      await users.getByRole('button', { name: 'Add a user' }).click();
      await fillIn(admin, { Name: 'Not A Name' }, 'Add a user');
      await admin.getByRole('dialog').getByRole('alert').filter({ hasText: 'cannot be a name' }).waitFor();
    });
    await isAccessible(admin);
    await admin.keyboard.press('Escape');
    await admin.waitForFunction(() => document.activeElement.textContent === 'Add a user');
    // The limits that were there stay.
    for (const [limits, words] of [[{ 'Requests per minute': '600', 'Tokens per minute': '90000', [UNPRICED]: true }, '600 req./min · 90,000 tokens/min'],
      [{ 'US dollars per day': '2.50' }, '600 req./min · 90,000 tokens/min · $2.50/day']]) {
      await take(admin, 'ann', 'Limits');
      await fillIn(admin, limits, 'Save');
      await ann.getByText(words, { exact: true }).waitFor();
    }
    // And so does what is allowed beside them.
    for (const isAllowed of [true, false]) {
      await take(admin, 'ann', 'Limits');
      assert.equal(await admin.getByRole('dialog').getByRole('checkbox').isChecked(), isAllowed);
      await fillIn(admin, { [UNPRICED]: false }, 'Save');
      await admin.getByRole('dialog').waitFor({ state: 'hidden' });
    }
    // The menu goes by keyboard, and gives the focus back.
    await admin.getByRole('button', { name: 'Actions for ann' }).focus();
    await admin.keyboard.press('Enter');
    await admin.keyboard.press('ArrowDown');
    assert.equal(await admin.evaluate(() => document.activeElement.textContent), 'Limits');
    await isAccessible(admin);
    await shot(admin, 'people-menu');
    await admin.keyboard.press('Escape');
    assert.equal(await admin.evaluate(() => document.activeElement.title), 'Actions for ann');
    // The form of a key has its user and its limits.
    await take(admin, 'ann', 'Make a key');
    const form = admin.getByRole('dialog');
    await form.waitFor();
    assert.equal(await form.getByRole('combobox', { name: 'User', exact: true }).inputValue(), 'ann');
    await form.locator('summary').click();
    await isAccessible(admin);
    await shot(admin, 'key-form');
    await fillIn(admin, { Label: 'laptop <b>', Valid: '90', 'Models (patterns; empty for all)': 'claude/*', 'Tokens per day': '70000' }, 'Make a key');
    const secret = await admin.getByLabel('Secret').inputValue();
    assert.match(secret, /^jk_/);
    await admin.waitForFunction(() => document.activeElement.getAttribute('aria-label') === 'Secret');
    // How to connect with it: no snippet has it.
    await admin.getByRole('tab', { name: 'Claude Code' }).click();
    await admin.getByText('export ANTHROPIC_AUTH_TOKEN="$JACKFIELD_KEY"', { exact: false }).waitFor();
    assert.ok(!(await admin.locator('.secret pre').allTextContents()).join('').includes(secret));
    await shot(admin, 'secret');
    await isAccessible(admin);
    await admin.getByRole('button', { name: 'Done' }).click();
    assert.equal(await admin.getByLabel('Secret').count(), 0);
    await admin.reload();
    await admin.getByText('laptop <b>').first().waitFor();
    await admin.getByRole('heading', { name: 'Budgets' }).waitFor();
    await admin.locator('section').filter({ hasText: 'Changes' }).locator('td', { hasText: 'team research' }).waitFor();
    assert.doesNotMatch(await admin.content(), new RegExp(secret));
    await shot(admin, 'people');
    await isAccessible(admin);
    const phone = await opened(browser, { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true });
    await keyIn(phone, 'page-0123456789abcdef');
    await phone.goto(`${url}/#/people`);
    await phone.getByText('laptop <b>').first().waitFor();
    await fits(phone);
    await shot(phone, 'people-phone');
    await take(phone, 'laptop <b>', 'Limits');
    await phone.getByRole('dialog').waitFor();
    await fits(phone);
    await isAccessible(phone);
    await phone.keyboard.press('Escape');
    await phone.getByRole('button', { name: 'Actions for ann' }).click();
    await fits(phone);
    await shot(phone, 'people-phone-keys');
    await isAccessible(phone);

    // A program's key opens the page without approvals.
    await send(section(admin, 'Keys'), 'Make a key', { User: 'ann', Label: 'program', 'Cannot answer approvals': true });
    await admin.getByLabel('Secret').waitFor();
    const program = await opened(browser, { viewport: { width: 1100, height: 1000 } });
    await keyIn(program, await admin.getByLabel('Secret').inputValue());
    await program.getByRole('link', { name: 'My keys and servers' }).waitFor();
    assert.equal(await program.getByRole('link', { name: 'Approvals' }).count(), 0);
    await section(admin, 'Keys').getByText('claude/* · 70,000 tokens/day').waitFor();
    await section(admin, 'Keys').getByRole('row', { name: 'program' }).getByText('Cannot answer approvals', { exact: false }).waitFor();
    await program.close();

    const user = await opened(browser, { viewport: { width: 1100, height: 1000 }, colorScheme: 'dark' });
    await keyIn(user, secret);
    await user.getByRole('link', { name: 'My keys and servers' }).click();
    assert.equal(await user.getByRole('link', { name: 'Users and keys' }).count(), 0);
    await section(user, 'My keys').getByText('laptop <b>').waitFor();
    // What holds for all its keys.
    await user.getByText('User ann · Requests per minute: 600 · Tokens per minute: 90,000', { exact: false }).waitFor();
    assert.equal(await section(user, 'My keys').getByText('Make a key').count(), 0);
    const servers = section(user, 'My servers');
    await send(servers, 'Add or replace a server', { Name: 'tracker', Address: 'https://mcp.example.com/mcp', 'Value of the header': 'Bearer of-ann' }, 'Save');
    await servers.getByText('https://mcp.example.com/mcp').waitFor();
    await refused(user, 400, async () => {
      await servers.getByRole('button', { name: 'Add or replace a server' }).click();
      await fillIn(user, { Name: 'inside', Address: 'http://127.0.0.1:1/mcp' }, 'Save');
      await user.getByRole('dialog').getByRole('alert').filter({ hasText: /./ }).waitFor();
    });
    await user.keyboard.press('Escape');
    await servers.getByRole('button', { name: 'Disable' }).click();
    await servers.getByText('off', { exact: true }).waitFor();
    await send(section(user, 'My keys at providers'), 'Set a key', { Provider: 'claude', Key: 'sk-of-ann-0123456789-last' }, 'Save');
    await user.getByText('ends in last').waitFor();
    const content = await user.content();
    for (const hidden of ['of-ann', secret]) assert.ok(!content.includes(hidden), hidden);
    await fits(user);
    await shot(user, 'own');
    await isAccessible(user);
    await surely(user, servers.getByRole('button', { name: 'Remove' }));
    await servers.getByText('None yet.').waitFor();

    // The user is out at once: what its page asks from then on is refused.
    isAway = true;
    await take(admin, 'ann', 'Disable');
    await ann.getByText('off', { exact: true }).waitFor();
    await user.reload();
    await user.getByLabel('API key').waitFor();
    await take(admin, 'laptop <b>', 'Revoke');
    await section(admin, 'Keys').getByRole('row', { name: 'laptop' }).getByText('revoked', { exact: true }).waitFor();
  },

  // A browser goes to an identity provider, and comes back to the place that it left.
  async sign_in(browser) {
    const page = await opened(browser, { viewport: { width: 1000, height: 800 } });
    await page.goto(`${url}/#/usage`);
    const link = page.getByRole('link', { name: 'Sign in with Example' });
    await link.waitFor();
    provider = await (await fetch(`${url}/api/v1/login/oidc`, { redirect: 'manual' })).headers.get('location').split('/authorize')[0];
    await shot(page, 'sign-in');
    await isAccessible(page);
    // There is no such user yet.
    await link.click();
    await page.getByText('this gateway has no user for you').waitFor();
    await shot(page, 'sign-in-refused');
    await isAccessible(page);
    await wish('user');
    await page.goto(`${url}/#/own`);
    await page.reload();
    await link.click();
    await page.getByRole('heading', { name: 'My keys and servers' }).waitFor();
    assert.equal(new URL(page.url()).hash, '#/own');
    // What the page asks before it is loaded again is refused.
    await personMenu(page);
    isAway = true;
    await page.getByRole('button', { name: 'Sign out' }).click();
    await link.waitFor();
    const begun = await page.context().request.get(`${url}/api/v1/login/oidc`, { maxRedirects: 0 });
    const state = new URL(begun.headers().location).searchParams.get('state');
    await wish('end of the provider');
    await page.goto(`${url}/api/v1/login/oidc/callback?code=x&state=${state}`);
    await page.getByText('Signing in is not possible now').waitFor();
  },
};

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

// Containers run as root, for whom Chromium has no sandbox; it opens nothing but the page.
const browser = await chromium.launch({ executablePath: process.env.JACKFIELD_CHROMIUM, args: ['--no-sandbox'] });
try {
  await scenarios[process.argv[2]](browser);
  assert.deepEqual(complaints, []);
} catch (error) {
  console.error(error, complaints);
  process.exitCode = 1;
  for (const context of browser.contexts()) {
    for (const [nth, page] of context.pages().entries()) await shot(page, `failed-${process.argv[2]}-${nth}`).catch(() => {});
  }
} finally {
  await browser.close();
  process.stdin.destroy();
}
