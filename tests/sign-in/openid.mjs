// A provider of OpenID Connect, `oidc-provider`, with one client: a gateway. One person signs in there. Prints the issuer as a
// line of JSON, takes the callback of the gateway as a line, and prints a line when it is ready.

import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [packages, email, verified] = process.argv.slice(2);
// The packages are not beside the script.
const { resolve } = createRequire(`${packages}/package.json`);
const { default: Provider } = await import(pathToFileURL(resolve("oidc-provider")));

const server = createServer();
server.listen(0, "127.0.0.1");
await once(server, "listening");
const issuer = `http://127.0.0.1:${server.address().port}`;

console.log(JSON.stringify({ issuer }));
// It ends with the test.
process.stdin.on("close", () => process.exit());
const [callback] = await once(createInterface(process.stdin), "line");

const provider = new Provider(issuer, {
  claims: { email: ["email", "email_verified"], openid: ["sub"] },
  clients: [{ client_id: "gateway", client_secret: "secret of the gateway+", redirect_uris: [callback] }],
  cookies: { keys: ["of this run alone"] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_, accountId) => ({
    accountId,
    claims: () => ({ sub: accountId, email, email_verified: verified === "true" }),
  }),
  interactions: { url: (_, { uid }) => `/person/${uid}` },
  pkce: { required: () => true },
});

// The person, who signs in and grants what is asked for.
async function person(request, response) {
  const { params, prompt, session } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    return provider.interactionFinished(request, response, { login: { accountId: "ada" } });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope((prompt.details.missingOIDCScope ?? []).join(" "));
  grant.addOIDCClaims(prompt.details.missingOIDCClaims ?? []);
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

const answer = provider.callback();
server.on("request", (request, response) => {
  if (!request.url.startsWith("/person/")) return answer(request, response);
  person(request, response).catch((error) => response.writeHead(500).end(String(error.stack)));
});
console.log("ready");
