// An authorization server, and behind it an MCP server of the official SDK, each at a port of its own on this machine.
// Prints where they are as a line of JSON; `POST /control` is how a test moves what the owner of the servers moves.

import { once } from "node:events";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The packages are not beside the script.
const { resolve } = createRequire(`${process.argv[2]}/package.json`);
const load = (name) => import(pathToFileURL(resolve(name)));
const { default: Provider } = await load("oidc-provider");
const { default: express } = await load("express");
const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { StreamableHTTPServerTransport } = await load("@modelcontextprotocol/sdk/server/streamableHttp.js");
const { InvalidTokenError } = await load("@modelcontextprotocol/sdk/server/auth/errors.js");
const { requireBearerAuth } = await load("@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js");
const { getOAuthProtectedResourceMetadataUrl, mcpAuthMetadataRouter } =
  await load("@modelcontextprotocol/sdk/server/auth/router.js");

// The document about a client that asks for no registration. It is not on this machine, so nothing is fetched.
const DOCUMENT = "https://client.example/jackfield.json";
const ABOUT_CLIENT = {
  client_id: DOCUMENT,
  client_name: "Jackfield",
  application_type: "native",
  grant_types: ["authorization_code", "refresh_token"],
  redirect_uris: ["http://127.0.0.1/callback"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
};

async function listening() {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return [server, `http://127.0.0.1:${server.address().port}`];
}

const [signIn, issuer] = await listening();
const [service, origin] = await listening();
const resource = `${origin}/mcp`;

// What the test moves.
const owner = { grants: null, lifetime: 3600, scopes: ["notes:read"] };
// What the test counts.
const counts = { authorization_code: 0, refresh_token: 0, refused: 0, registered: 0, revoked: 0, added: 0 };
// The tokens that were given last.
const last = {};

const provider = new Provider(issuer, {
  clientDefaults: { token_endpoint_auth_method: "none" },
  cookies: { keys: ["of this run alone"] },
  features: {
    clientIdMetadataDocument: { enabled: true, ack: "draft-02" },
    devInteractions: { enabled: false },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: () => ({
        accessTokenFormat: "opaque",
        accessTokenTTL: owner.lifetime,
        audience: resource,
        scope: "notes:read notes:write",
      }),
    },
    revocation: { enabled: true },
  },
  fetch: (url) => {
    if (String(url) !== DOCUMENT) throw new Error(`${url} is not to be fetched`);
    return new Response(JSON.stringify(ABOUT_CLIENT), { headers: { "content-type": "application/json" } });
  },
  findAccount: (_, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
  interactions: { url: (_, { uid }) => `/person/${uid}` },
});
provider.on("grant.success", (ctx) => (counts[ctx.oidc.params.grant_type] += 1));
provider.on("grant.error", () => (counts.refused += 1));
provider.on("registration_create.success", () => (counts.registered += 1));
provider.on("grant.revoked", () => (counts.revoked += 1));
provider.on("access_token.saved", (token) => (last.access = token));

// The person, who signs in and grants what the test says.
async function person(request, response) {
  const { params, prompt, session } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    return provider.interactionFinished(request, response, { login: { accountId: "ada" } });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope((prompt.details.missingOIDCScope ?? []).join(" "));
  for (const [indicator, scopes] of Object.entries(prompt.details.missingResourceScopes ?? {})) {
    for (const scope of scopes) {
      const granted = owner.grants?.includes(scope) ?? true;
      granted ? grant.addResourceScope(indicator, scope) : grant.rejectResourceScope(indicator, scope);
    }
  }
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

const callback = provider.callback();
signIn.on("request", (request, response) => {
  if (!request.url.startsWith("/person/")) return callback(request, response);
  person(request, response).catch((error) => response.writeHead(500).end(String(error.stack)));
});

async function forget(what) {
  if (what === "access") return last.access.destroy();
  const { grantId } = last.access;
  await provider.AccessToken.revokeByGrantId(grantId);
  await provider.RefreshToken.revokeByGrantId(grantId);
}

const verifier = {
  async verifyAccessToken(token) {
    const found = await provider.AccessToken.find(token);
    if (!found) throw new InvalidTokenError("the token has ended");
    const scopes = [...found.scopes];
    return { token, clientId: found.clientId, scopes, expiresAt: found.exp, resource: new URL(found.aud) };
  },
};

function notes() {
  const server = new McpServer({ name: "notes", version: "1" });
  const said = (text) => ({ content: [{ type: "text", text }] });
  server.registerTool("read_notes", { description: "Reads the notes." }, () => said(`${counts.added} notes`));
  server.registerTool("add_note", { description: "Adds a note." }, () => {
    counts.added += 1;
    return said(`note ${counts.added} is added`);
  });
  server.registerTool("end_token", { description: "Ends the token." }, async () => {
    await forget("access");
    return said("the token has ended");
  });
  server.registerTool("lock_out", { description: "Ends all access." }, async () => {
    await forget("grant");
    return said("all access has ended");
  });
  return server;
}

const app = express();
app.use(express.json());
const discovered = await fetch(`${issuer}/.well-known/openid-configuration`);
const resourceServerUrl = new URL(resource);
app.use(mcpAuthMetadataRouter({ oauthMetadata: await discovered.json(), resourceServerUrl }));
app.use("/mcp", (request, response, next) => {
  const adds = request.body?.params?.name === "add_note";
  requireBearerAuth({
    expectedResource: resource,
    requiredScopes: adds ? ["notes:read", "notes:write"] : owner.scopes,
    resourceMetadataUrl: getOAuthProtectedResourceMetadataUrl(resourceServerUrl),
    verifier,
  })(request, response, next);
});
app.post("/mcp", async (request, response) => {
  const server = notes();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.on("close", () => server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
app.all("/mcp", (_, response) => response.status(405).end());
app.post("/control", async (request, response) => {
  const { forget: what, ...moved } = request.body;
  Object.assign(owner, moved);
  if (what) await forget(what);
  const expired = last.access && !(await provider.AccessToken.find(last.access.jti));
  response.json({ ...counts, expired });
});
service.on("request", app);

// It ends with the test.
process.stdin.on("close", () => process.exit()).resume();
console.log(JSON.stringify({ control: origin.replace("http://", ""), document: DOCUMENT, url: resource }));
