import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { type JsonObject, parseJson } from '../../core/request/json/json.ts'
import { ID } from './id.ts'
import { requireSameOrigin } from './same-origin.ts'
import {
  findSession,
  findSessions,
  formatExpiredCookie,
  formatSessionCookie,
} from './session-cookie.ts'
import type { Credentials, Session, Sessions } from './sessions.ts'

const BODY_MAX_BYTES = 16 * 1024
const JSON_TYPE = 'application/json'

type Serve = (x: Exchange) => Promise<void>

/**
 * Serves `POST /login`, `POST /logout` and `/session`, where `GET` returns the session and `POST`
 * renews it. Returns undefined for other paths.
 *
 * @param maxAgeMs lifetime of the cookie.
 */
export function createLoginRoutes(
  sessions: Sessions,
  maxAgeMs: number,
): (x: Exchange) => Promise<void> | undefined {
  async function logIn(x: Exchange): Promise<void> {
    requireSameOrigin(x)
    const session = await sessions.begin(await readCredentials(x), x.clientAddress)
    await endAll(x)
    respond(x, session, ['set-cookie', formatSessionCookie(x, session, maxAgeMs)])
  }

  async function logOut(x: Exchange): Promise<void> {
    requireSameOrigin(x)
    await endAll(x)
    x.reply(204, '', ['set-cookie', formatExpiredCookie(x), 'cache-control', 'no-store'])
  }

  async function show(x: Exchange): Promise<void> {
    const session = findSession(x, sessions)
    await sessions.check(session, x.clientAddress)
    respond(x, session)
  }

  async function renew(x: Exchange): Promise<void> {
    requireSameOrigin(x)
    const session = findSession(x, sessions)
    await sessions.check(session, x.clientAddress)
    sessions.touch(session)
    respond(x, session)
  }

  /**
   * Ends all sessions. Tokens that cannot be revoked are dropped, because only this process has
   * them.
   */
  async function endAll(x: Exchange): Promise<void> {
    for (const session of findSessions(x, sessions))
      await sessions.end(session, x.clientAddress).catch(() => {})
  }

  function respond(x: Exchange, session: Session, cookie: readonly string[] = []): void {
    const view = JSON.stringify(sessions.toView(session))
    x.reply(200, view, ['content-type', JSON_TYPE, 'cache-control', 'no-store', ...cookie])
  }

  const routes: Readonly<Record<string, Readonly<Record<string, Serve>>>> = {
    '/login': { POST: logIn },
    '/logout': { POST: logOut },
    '/session': { GET: show, POST: renew },
  }
  return (x) => {
    const route = Object.hasOwn(routes, x.path) ? routes[x.path]! : undefined
    if (route === undefined || (isPageRequest(x) && route['GET'] === undefined)) return undefined
    const serve = Object.hasOwn(route, x.method) ? route[x.method]! : undefined
    if (serve !== undefined) return serve(x)
    const methods = Object.keys(route).join(', ')
    throw new GatewayError(
      ID,
      405,
      `method ${x.method} not allowed for ${x.path}; expected ${methods}`,
      {
        headers: ['allow', methods],
      },
    )
  }
}

/** Returns whether the request is for a page, which may have the same path as a route. */
function isPageRequest({ method }: Exchange): boolean {
  return method === 'GET' || method === 'HEAD'
}

/**
 * @throws {GatewayError} 415 for other content types, which forms on other sites could send; 413,
 * 400
 */
async function readCredentials(x: Exchange): Promise<Credentials> {
  const type = x.headers.get('content-type') ?? ''
  if (type.split(';', 1)[0]!.trim().toLowerCase() !== JSON_TYPE)
    throw new GatewayError(ID, 415, `the content type must be ${JSON_TYPE}, got ${type || 'none'}`)
  const body = parseJson(await x.readBody(BODY_MAX_BYTES), 'request body', ID)
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new GatewayError(ID, 400, 'request body must be a JSON object with id and secret')
  return {
    id: readText(body, 'id'),
    secret: readText(body, 'secret'),
    namespace: body['namespace'] === undefined ? '' : readText(body, 'namespace'),
  }
}

function readText(body: JsonObject, name: string): string {
  const value = body[name]
  if (typeof value === 'string' && value !== '') return value
  throw new GatewayError(ID, 400, `${name} must be a non-empty string`)
}
