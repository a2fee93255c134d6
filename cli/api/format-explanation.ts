import { suggest } from '../../core/suggest.ts'
import type { ExplainedRuling, Explanation } from '../../platform/explain.ts'
import type { TestRequest } from '../../sdk/testing.ts'

const WIDTH = 10
const MAX_NAMES = 20

/** What became of a request, a line each, for people. */
export function formatExplanation(
  { method = '', path = '' }: TestRequest,
  explanation: Explanation,
): string {
  const { stages, route, handler, namespace, account, rulings, nodes, sentTo, answer } = explanation
  const plugins = [...new Set(stages.flatMap(({ plugin }) => plugin ?? []))]
  const lines: (readonly [string, string])[] = [
    ['plugins', plugins.join(', ') || 'none'],
    ['namespace', namespace || 'none'],
    ['caller', account || 'nobody that is known'],
  ]
  if (route !== undefined) {
    const { service, endpoint } = route
    lines.push(['route', `${service}${endpoint === '' ? '' : ` ${endpoint}`}`])
    lines.push(['handler', handler ?? 'none'])
  }
  for (const ruling of rulings) lines.push(['rule', formatRuling(ruling)])
  if (nodes !== undefined)
    lines.push([
      'nodes',
      nodes
        .map(({ id, address, protocol, draining }) => {
          const state = draining ? ', draining' : ''
          return `${address} (${protocol}${state})${id === sentTo ? ' next' : ''}`
        })
        .join(', ') || 'none',
    ])
  if (answer === undefined)
    lines.push([
      'answer',
      sentTo === 'topic' ? 'published as an event' : `that of ${route?.service}`,
    ])
  else {
    const { status, error } = answer
    lines.push(['answer', `${status}${error === undefined ? '' : ` ${error.message}`}`])
    lines.push(['why', toWhy(explanation)])
  }
  const body = lines.map(([name, text]) => `  ${name.padEnd(WIDTH)}${text}\n`).join('')
  return `${method} ${path}\n${body}`
}

/** Why the gateway itself answers, and what to do about it. */
export function toWhy({
  stages,
  answer,
  route,
  known,
  endpoints,
  rulings,
  account,
}: Explanation): string {
  const { plugin, hook } = stages.at(-1) ?? { plugin: undefined, hook: 'onRequest' }
  const { status = 0, error } = answer ?? {}
  const where = plugin === undefined ? `the step ${hook}` : `plugin ${plugin} (${hook})`
  if (error === undefined) return `${where} answers it itself`
  if (status === 404 && route === undefined && known.length > 0) {
    const meant = known.find((name) => name.endsWith(`.${error.id}`)) ?? suggest(error.id, known)
    const list = known.slice(0, MAX_NAMES).join(', ')
    return meant === undefined ? `there are ${list}` : `did you mean ${meant}? There are ${list}`
  }
  if (status === 404 && error.message.startsWith('service not found'))
    return 'nothing is registered: name services in mx.yaml or with --backend, or a registry with --registry'
  if (status === 404 && endpoints.length > 0)
    return `the service declares ${endpoints.slice(0, MAX_NAMES).join(', ')}`
  const denied = rulings.find(({ granted }) => !granted)
  if (status === 401 && denied !== undefined) {
    const cause =
      denied.rule === undefined ? 'no rule grants it' : `rule ${denied.rule.id} denies it`
    const hint =
      account === '' ? ': show who calls, -H "Authorization: Bearer $(mx user token)"' : ''
    return `${cause} to ${account || 'nobody that is known'}${hint}`
  }
  if (status === 503 && error.message.includes('no node'))
    return 'the service is registered, and none of its nodes can be used'
  return `${where} refuses it`
}

function formatRuling({ namespace, resource, granted, rule }: ExplainedRuling): string {
  const verdict = granted ? 'granted' : 'denied'
  const by = rule === undefined ? 'no rule applies' : `rule ${rule.id}`
  return `${verdict} by ${by}, of ${namespace}, for ${resource}`.replace('by no', 'since no')
}
