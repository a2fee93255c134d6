import type { PurgeSelection } from '../../core/contracts/response-caches.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { badRequest, methodNotAllowed, notFound, unavailable } from '../../sdk/errors.ts'
import type { Log } from '../process/log.ts'
import { type AdminHandler, CACHE_PATH } from './admin.ts'
import { ADMIN_AUTHOR, ADMIN_ERROR_ID, createTokenCheck, respondJson } from './admin-token.ts'

/** Removes stored responses in all processes and returns their number. */
export type PurgeCaches = (selection: PurgeSelection) => Maybe<number>

const PURGE_PATH = `${CACHE_PATH}/purge`
const PARAMETERS = ['namespace', 'service', 'origin', 'path', 'group', 'all']

/**
 * Creates `POST /cache/purge`, which removes stored responses. It requires the token.
 *
 * @param token if empty, the endpoint is not available.
 * @param purge undefined while the gateway is starting.
 */
export function createCacheEndpoints(
  token: string,
  purge: () => PurgeCaches | undefined,
  log: Log,
): AdminHandler {
  const checkToken = token === '' ? undefined : createTokenCheck(token)
  return (request, path) =>
    respondJson(async () => {
      if (path !== PURGE_PATH) throw notFound(ADMIN_ERROR_ID, `not found; available: ${PURGE_PATH}`)
      if (checkToken === undefined)
        throw notFound(ADMIN_ERROR_ID, 'set admin_token to purge stored responses')
      checkToken(request)
      if (request.method !== 'POST')
        throw methodNotAllowed(ADMIN_ERROR_ID, 'method not allowed; expected POST', {
          headers: ['allow', 'POST'],
        })
      const selection = readSelection(new URLSearchParams((request.url ?? '').split('?')[1]))
      const run = purge()
      if (run === undefined) throw unavailable(ADMIN_ERROR_ID, 'the gateway is starting')
      const removed = await run(selection)
      log.info({ ...selection, removed, by: ADMIN_AUTHOR }, 'stored responses purged')
      return { body: { removed } }
    })
}

/** @throws {GatewayError} 400 for an unknown or missing parameter. */
function readSelection(query: URLSearchParams): PurgeSelection {
  for (const name of query.keys())
    if (!PARAMETERS.includes(name))
      throw badRequest(
        ADMIN_ERROR_ID,
        `unknown parameter ${name}; expected ${PARAMETERS.join(', ')}`,
      )
  const read = (name: string): string | undefined => query.get(name) || undefined
  const selection = {
    namespace: query.get('namespace') ?? undefined,
    service: read('service'),
    origin: read('origin')?.toLowerCase(),
    path: read('path'),
    group: read('group'),
  }
  const isEmpty = Object.values(selection).every((value) => value === undefined)
  if (isEmpty && query.get('all') !== 'true')
    throw badRequest(
      ADMIN_ERROR_ID,
      'a parameter is required: path, group, service, origin, namespace, or all=true',
    )
  return selection
}
