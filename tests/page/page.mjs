// Drives the page in Chromium. Usage: node page.mjs SCENARIO.
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import assert from 'node:assert/strict';
import path from 'node:path';

const { chromium } = createRequire(path.join(process.env.JACKFIELD_MODULES, 'package.json'))('playwright-core');
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

// A page whose console is listened to.
async function opened(browser, options = {}) {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.on('console', (message) => {
    if (!isAway) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.stack}`));
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) complaints.push(`asks ${request.url()}`);
  });
  return page;
}

const shot = (page, name) => page.screenshot({ path: path.join(process.env.JACKFIELD_SHOTS, `${name}.png`) });

async function say(page, text) {
  const field = page.getByRole('textbox', { name: 'Message' });
  await field.fill(text);
  await field.press('Enter');
}

const ended = (page, n) => page.locator(`.turn[data-status=ended] >> nth=${n}`).waitFor();

// No part is wider than the window.
async function fits(page) {
  const [whole, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(whole <= seen, `${whole} px in a window of ${seen} px`);
}

const scenarios = {
  async cards(browser) {
    const page = await opened(browser, { viewport: { width: 1280, height: 900 } });
    await page.goto(url);
    await shot(page, 'empty');
    await say(page, 'What is 15% of 2500, and 6*7?');
    const cards = page.locator('.turn .card');
    await page.getByRole('button', { name: 'Allow once' }).nth(1).waitFor();
    assert.equal(await cards.count(), 2);
    await page.locator('#waiting').waitFor();
    await shot(page, 'waiting');
    // Two clicks are one answer: the first disables the button.
    await cards.nth(0).getByRole('button', { name: 'Allow once' }).dblclick();
    await cards.nth(0).getByText('Answered by').waitFor();
    // The other one is answered in the list over all sessions, in another tab.
    const other = await page.context().newPage();
    await other.goto(`${url}/#/approvals`);
    await other.getByRole('button', { name: 'Deny' }).click();
    await other.getByRole('textbox', { name: 'Reason' }).fill('Too easy');
    await shot(other, 'approvals');
    await other.getByRole('button', { name: 'Deny' }).click();
    await other.locator('.card').getByText('Answered by').waitFor();
    await ended(page, 0);
    assert.equal(await cards.nth(0).getAttribute('data-state'), 'done');
    assert.equal(await cards.nth(1).getAttribute('data-state'), 'denied');
    await other.close();
    // Markdown is rendered, and what would run is text.
    const answer = page.locator('.rendered').last();
    assert.equal(await answer.locator('strong').textContent(), '375');
    assert.equal(await answer.locator('script, img').count(), 0);
    assert.match(await answer.textContent(), /<script>document\.title/);
    assert.deepEqual(await answer.locator('a[href]').evaluateAll((all) => all.map((one) => one.getAttribute('href'))), [
      'https://example.com/a?b=1&c=2', 'https://example.com/leak.png']);
    await cards.nth(0).locator('details').last().locator('summary').click();
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
    await ended(page, 1);
    assert.match(await cards.nth(2).textContent(), /A person changed the arguments/);
    // A fork before the second turn, with its message to be changed.
    const before = page.url();
    await page.locator('.turn').nth(1).getByRole('button', { name: 'Edit' }).first().click();
    await page.waitForFunction((old) => location.href !== old, before);
    const message = page.getByRole('textbox', { name: 'Message' });
    await page.waitForFunction(() => document.querySelector('.composer textarea').value === 'What is 1+1?');
    await message.fill('What is the fork?');
    await message.press('Enter');
    await page.getByText('The fork answers.').first().waitFor();
    await ended(page, 0);
    assert.equal(await page.locator('.history .card').count(), 2);
    await shot(page, 'fork');
    await page.locator('.sessions a').nth(1).waitFor();
    // The same on a phone and in the dark.
    const phone = await opened(browser, { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true, isMobile: true });
    await phone.goto(before);
    await ended(phone, 1);
    await fits(phone);
    await shot(phone, 'phone-dark');
    await phone.locator('.turn').first().scrollIntoViewIfNeeded();
    await phone.evaluate(() => document.querySelector('.scroll').scrollTo(0, 0));
    await shot(phone, 'phone-dark-top');
    await phone.getByRole('button', { name: 'Menu' }).click();
    await shot(phone, 'phone-menu');
    for (const place of ['Use and cost', 'Servers and providers']) {
      await page.getByRole('link', { name: place }).click();
      await page.getByRole('heading', { name: place }).waitFor();
      await page.locator('.page table').first().waitFor();
      await shot(page, place.toLowerCase().replaceAll(' ', '-'));
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
    await shot(page, 'streaming');
    await page.reload();
    await page.getByText('A word after the other').first().waitFor();
    assert.equal(await page.locator('.turn').getAttribute('data-status'), 'running');
    await wish('rest of the first stream');
    await ended(page, 0);
    assert.match(await page.locator('.turn .text').last().textContent(), /The end of the first\.$/m);
    await say(page, 'Write the second');
    await page.locator('.turn').nth(1).getByText('A word after the other').waitFor();
    isAway = true;
    await wish('kill');
    await page.getByText('The gateway cannot be reached').waitFor();
    await shot(page, 'away');
    await wish('start');
    await page.getByText('The reply after the restart.').first().waitFor();
    await ended(page, 1);
    isAway = false;
    const second = page.locator('.turn').nth(1);
    assert.equal(await second.getByText('A word after the other').count(), 0);
    assert.equal(await page.getByText('The gateway cannot be reached').count(), 0);
    await shot(page, 'restarted');
  },

  async login(browser) {
    const page = await opened(browser, { viewport: { width: 390, height: 844 } });
    await page.goto(url);
    await page.getByLabel('API key').waitFor();
    await fits(page);
    await shot(page, 'login');
    isAway = true;
    await page.getByLabel('API key').fill('wrong-0123456789abcdef');
    await page.keyboard.press('Enter');
    await page.getByText('does not know this key').waitFor();
    isAway = false;
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
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
  },
};

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
