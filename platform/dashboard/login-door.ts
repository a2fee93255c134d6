import { GatewayError } from '../../core/errors.ts'
import type { Exchange } from '../../core/exchange.ts'
import { type JsonObject, parseJson } from '../../core/request/json.ts'
import { takeToken } from '../../plugins/auth/shown-token.ts'
import { ID } from './id.ts'
import { type Credentials, type Login, type Logins, toView } from './logins.ts'
import { mustBeOwnPage } from './own-page.ts'
import { formatNoCookie, formatTokenCookie } from './token-cookie.ts'

const BODY_MAX_BYTES = 16 * 1024
const JSON_TYPE = 'application/json'

type Serve = (x: Exchange) => Promise<void>

/**
 * Serves `POST /login` and `/logout`, and `/session`: `GET` tells who is logged in, `POST` renews the login. Undefined: it is
 * something else.
 *
 * @param onEnd told of a login that has ended.
 */
export function createLoginDoor(
  logins: Logins,
  onEnd: (login: Login) => void,
): (x: Exchange) => Promise<void> | undefined {
  async function logIn(x: Exchange): Promise<void> {
    mustBeOwnPage(x)
    const login = await logins.begin(await readCredentials(x), x.clientAddress)
    answer(x, login, true)
  }

  async function logOut(x: Exchange): Promise<void> {
    mustBeOwnPage(x)
    const login = await find(x).catch(toNobody)
    if (login !== undefined) {
      await logins.end(login, x.clientAddress).catch(toNobody)
      onEnd(login)
    }
    x.reply(204, '', ['set-cookie', formatNoCookie(x), 'cache-control', 'no-store'])
  }

  async function tell(x: Exchange): Promise<void> {
    answer(x, await find(x), false)
  }

  async function renew(x: Exchange): Promise<void> {
    mustBeOwnPage(x)
    const login = await find(x)
    await logins.renew(login, x.clientAddress)
    answer(x, login, true)
  }

  /** @throws {GatewayError} 401 when nobody is logged in. */
  function find(x: Exchange): Promise<Login> {
    const token = takeToken(x)
    if (token === undefined) return Promise.reject(new GatewayError(ID, 401, 'nobody is logged in'))
    return logins.find(token, x.clientAddress)
  }

  const doors: Readonly<Record<string, Readonly<Record<string, Serve>>>> = {
    '/login': { POST: logIn },
    '/logout': { POST: logOut },
    '/session': { GET: tell, POST: renew },
  }
  return (x) => {
    const door = Object.hasOwn(doors, x.path) ? doors[x.path]! : undefined
    if (door === undefined || (isLook(x) && door['GET'] === undefined)) return undefined
    const serve = Object.hasOwn(door, x.method) ? door[x.method]! : undefined
    if (serve !== undefined) return serve(x)
    const methods = Object.keys(door).join(', ')
    throw new GatewayError(ID, 405, `${x.path} takes ${methods}, got ${x.method}`, {
      headers: ['allow', methods],
    })
  }
}

/** A page may be called like a door. */
function isLook({ method }: Exchange): boolean {
  return method === 'GET' || method === 'HEAD'
}

function answer(x: Exchange, login: Login, isNew: boolean): void {
  x.reply(200, JSON.stringify(toView(login)), [
    ...['content-type', JSON_TYPE, 'cache-control', 'no-store'],
    ...(isNew ? ['set-cookie', formatTokenCookie(x, login)] : []),
  ])
}

/** Whoever is not logged in has logged out. */
function toNobody(error: unknown): undefined {
  if (!(error instanceof GatewayError) || error.code !== 401) throw error
}

/** @throws {GatewayError} 415 for what forms of other pages could send, 413, 400 */
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
  throw new GatewayError(ID, 400, `${name} must be a text that is not empty`)
}
