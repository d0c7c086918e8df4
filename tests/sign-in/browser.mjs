// The browser of a sign-in: opens an address, follows where it is sent, and keeps its cookies. With `--print`, it says where
// it ended, and which cookies it has then.

const jar = new Map();
let url = process.argv[2];
let place;
while (url) {
  place = url;
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  const answer = await fetch(url, { headers: { cookie }, redirect: "manual" });
  for (const set of answer.headers.getSetCookie()) {
    const [name, value] = set.split(";")[0].split("=");
    value ? jar.set(name, value) : jar.delete(name);
  }
  const location = answer.headers.get("location");
  url = location && new URL(location, url).href;
}
if (process.argv[3] === "--print") console.log(JSON.stringify({ place, cookies: [...jar].map(([name, value]) => `${name}=${value}`) }));
