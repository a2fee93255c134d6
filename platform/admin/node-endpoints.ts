import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { badRequest, methodNotAllowed, notFound, unavailable } from '../../sdk/errors.ts'
import type { NodeControl, NodeSelection } from '../../services/gateway/node-control.ts'
import { type AdminHandler, NODES_PATH } from './admin.ts'
import { ADMIN_AUTHOR, ADMIN_ERROR_ID, createTokenCheck, respondJson } from './admin-token.ts'

const CALLER = { id: ADMIN_ERROR_ID, author: ADMIN_AUTHOR }
const DRAIN_PATH = `${NODES_PATH}/drain`
const RESTORE_PATH = `${NODES_PATH}/restore`

/**
 * Creates the endpoints for nodes. `GET /nodes` requires no token, like `/metrics`; `POST
 * /nodes/drain` and `/nodes/restore` require the token.
 *
 * @param token if empty, nodes cannot be drained or restored.
 * @param nodes undefined while the gateway is starting.
 */
export function createAdminNodeEndpoints(
  token: string,
  nodes: () => NodeControl | undefined,
): AdminHandler {
  const checkToken = token === '' ? undefined : createTokenCheck(token)
  return (request, path) =>
    respondJson(async () => {
      const { method, url = '' } = request
      const query = new URLSearchParams(url.split('?')[1])
      const namespace = query.get('namespace') ?? DEFAULT_DOMAIN
      if (path === NODES_PATH) {
        requireMethod(method === 'HEAD' ? 'GET' : method, 'GET')
        const service = query.get('service') ?? ''
        return { body: { nodes: await running().list({ namespace, service }) } }
      }
      if (path !== DRAIN_PATH && path !== RESTORE_PATH)
        throw notFound(ADMIN_ERROR_ID, `not found; available: ${DRAIN_PATH}, ${RESTORE_PATH}`)
      if (checkToken === undefined)
        throw notFound(ADMIN_ERROR_ID, `set admin_token to drain and restore nodes`)
      checkToken(request)
      requireMethod(method, 'POST')
      const node: NodeSelection = {
        namespace,
        service: requireParameter(query, 'service'),
        node: requireParameter(query, 'node'),
      }
      if (path === RESTORE_PATH) return { body: { node: await running().restore(node, CALLER) } }
      const force = query.get('force') === 'true'
      return { body: { node: await running().drain({ ...node, force }, CALLER) } }
    })

  function running(): NodeControl {
    const control = nodes()
    if (control === undefined) throw unavailable(ADMIN_ERROR_ID, 'the gateway is starting')
    return control
  }
}

function requireMethod(method: string | undefined, expected: string): void {
  if (method === expected) return
  throw methodNotAllowed(ADMIN_ERROR_ID, `method not allowed; expected ${expected}`, {
    headers: ['allow', expected],
  })
}

function requireParameter(query: URLSearchParams, name: string): string {
  const value = query.get(name) ?? ''
  if (value === '') throw badRequest(ADMIN_ERROR_ID, `the parameter ${name} is required`)
  return value
}
