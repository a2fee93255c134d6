import { suggest } from '../../../lib/text/did-you-mean.ts'
import type { Explanation } from './explanation.ts'

/** Maximum number of listed services or endpoints. */
const MAX_NAMES = 20

/** Explains a response that the gateway generated, with a hint. */
export function explainResponse({
  stages,
  answer,
  route,
  known,
  endpoints,
  rulings,
  account,
}: Omit<Explanation, 'why'>): string {
  const { plugin, hook } = stages.at(-1) ?? { plugin: undefined, hook: 'onRequest' }
  const { status = 0, error } = answer ?? {}
  const step = plugin === undefined ? `the ${hook} step` : `plugin ${plugin} (${hook})`
  if (error === undefined) return `${step} sent the response`
  if (status === 404 && route === undefined && known.length > 0) {
    const suggestion =
      known.find((name) => name.endsWith(`.${error.id}`)) ?? suggest(error.id, known)
    const list = known.slice(0, MAX_NAMES).join(', ')
    return `${suggestion === undefined ? '' : `did you mean ${suggestion}? `}known services: ${list}`
  }
  if (status === 404 && error.message.startsWith('service not found'))
    return 'no service is registered: list services in mx.yaml or with --backend, or set a registry with --registry'
  if (status === 404 && error.message.endsWith('has no endpoint to call'))
    return 'set handler: proxy, or endpoint, in the route'
  if (status === 404 && endpoints.length > 0)
    return `the service declares ${endpoints.slice(0, MAX_NAMES).join(', ')}`
  const denied = rulings.find(({ granted }) => !granted)
  if (status === 401 && denied !== undefined) {
    const cause =
      denied.rule === undefined ? 'no rule grants it' : `rule ${denied.rule.id} denies it`
    const hint =
      account === '' ? ': authenticate with "Authorization: Bearer $(mx user token)"' : ''
    return `${cause} to ${account || 'anonymous callers'}${hint}`
  }
  if (status === 503 && error.message.includes('no node'))
    return 'the service is registered, but none of its nodes is available'
  if (status === 503 && error.message.endsWith('the registry is unavailable'))
    return 'check that the registry is running at the address in --registry or in the environment of --server'
  if (status === 503 && error.message.endsWith('the registry denies access'))
    return 'the account of the gateway (--auth_id, MX_AUTH_SECRET) or the token of --registry is invalid or lacks access to the registry'
  if (stages.length === 0) return 'the listener rejected the request before any plugin ran'
  return `${step} rejected the request`
}
