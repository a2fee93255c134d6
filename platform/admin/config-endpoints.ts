import type { IncomingMessage } from 'node:http'
import { GatewayError } from '../../core/errors.ts'
import { badRequest, methodNotAllowed, notFound, unavailable } from '../../sdk/errors.ts'
import type { ConfigVersions } from '../../services/gateway/config-versions.ts'
import { type AdminHandler, CONFIG_PATH } from './admin.ts'
import { ADMIN_AUTHOR, createTokenCheck, ADMIN_ERROR_ID as ID, respondJson } from './admin-token.ts'

interface ConfigRequest {
  readonly versions: ConfigVersions
  readonly ifMatch: string
  readonly readText: () => Promise<string>
  readonly query: URLSearchParams
}

interface ConfigResult {
  readonly etag: string
  readonly body: object
}

const MAX_BYTES = 1024 * 1024

/** Endpoints by method and path. */
const ENDPOINTS: Readonly<Record<string, (request: ConfigRequest) => Promise<ConfigResult>>> = {
  async [`GET ${CONFIG_PATH}`]({ versions }) {
    const version = versions.current()
    return { etag: version.etag, body: { version } }
  },

  async [`PUT ${CONFIG_PATH}`]({ versions, ifMatch, readText }) {
    const options = { ifMatch: requireMatch(ifMatch), author: ADMIN_AUTHOR }
    const body = await versions.apply(await readText(), options)
    return { etag: body.version.etag, body }
  },

  async [`POST ${CONFIG_PATH}/diff`]({ versions, readText }) {
    const body = await versions.diff(await readText())
    return { etag: body.etag, body }
  },

  async [`GET ${CONFIG_PATH}/history`]({ versions }) {
    return { etag: versions.current().etag, body: { versions: versions.list() } }
  },

  async [`POST ${CONFIG_PATH}/rollback`]({ versions, ifMatch, query }) {
    const options = { ifMatch: requireMatch(ifMatch), author: ADMIN_AUTHOR }
    const body = await versions.rollback(toNumber(query.get('version') ?? '0'), options)
    return { etag: body.version.etag, body }
  },
}

/**
 * Creates the endpoints for the configuration of `mx api`.
 *
 * @param token required as the bearer token.
 * @param versions undefined while the gateway is starting.
 */
export function createConfigEndpoints(
  token: string,
  versions: () => ConfigVersions | undefined,
): AdminHandler {
  const checkToken = createTokenCheck(token)

  const handle = async (request: IncomingMessage, path: string): Promise<ConfigResult> => {
    const { method, url = '', headers } = request
    checkToken(request)
    const serve = ENDPOINTS[`${method} ${path}`]
    if (serve === undefined) throw rejectPath(path)
    const running = versions()
    if (running === undefined) throw unavailable(ID, 'the gateway is starting')
    return serve({
      versions: running,
      ifMatch: headers['if-match'] ?? '',
      readText: () => readBody(request),
      query: new URLSearchParams(url.split('?')[1]),
    })
  }

  return (request, path) =>
    respondJson(async () => {
      const { etag, body } = await handle(request, path)
      return { body, headers: { etag } }
    })
}

function rejectPath(path: string): GatewayError {
  const methods = Object.keys(ENDPOINTS)
    .filter((name) => name.endsWith(` ${path}`))
    .map((name) => name.split(' ')[0])
  if (methods.length === 0)
    return notFound(ID, `not found; available: ${Object.keys(ENDPOINTS).join(', ')}`)
  const allow = methods.join(', ')
  return methodNotAllowed(ID, `method not allowed; expected ${allow}`, {
    headers: ['allow', allow],
  })
}

function requireMatch(ifMatch: string): string {
  if (ifMatch !== '') return ifMatch
  throw new GatewayError(
    ID,
    428,
    'the header If-Match is required: the ETag of GET /config, or * to replace any version',
  )
}

function toNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw badRequest(ID, `version must be a number, got ${JSON.stringify(text.slice(0, 100))}`)
}

/** @throws {GatewayError} 413 */
async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES)
      throw new GatewayError(ID, 413, `the configuration is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
