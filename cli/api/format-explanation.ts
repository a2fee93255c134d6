import type { ExplainedRequest } from '../../platform/gateway/routing/explained-request.ts'
import type { ServerExplanation } from './explain-at-server.ts'

const WIDTH = 10
const POSITION = /:\d+:\d+$/

/** Formats an explanation as text, one line per step. */
export function formatExplanation(
  { method, path }: ExplainedRequest,
  explanation: ServerExplanation,
): string {
  const {
    stages,
    route,
    routeName,
    target,
    host,
    handler,
    namespace,
    account,
    rulings,
    nodes,
    settings,
    sentTo,
    answer,
    why,
  } = explanation
  const plugins = [...new Set(stages.flatMap(formatPlugin))]
  const lines: (readonly [string, string])[] = [
    ['plugins', plugins.join(', ') || 'none'],
    ['namespace', namespace || 'none'],
    ['caller', account || 'anonymous'],
  ]
  if (route !== undefined) {
    const { service, endpoint } = route
    const name = routeName === undefined ? '' : `${routeName}: `
    lines.push(['route', `${name}${service}${endpoint === '' ? '' : ` ${endpoint}`}`])
    if (routeName !== undefined) lines.push(['target', target], ['host', host])
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
  if (settings !== undefined) lines.push(['settings', formatSettings(settings)])
  if (answer === undefined)
    lines.push([
      'response',
      sentTo === 'topic' ? 'published as an event' : `from ${route?.service}`,
    ])
  else {
    const { status, error } = answer
    lines.push(['response', `${status}${error === undefined ? '' : ` ${error.message}`}`])
    lines.push(['why', why])
  }
  const body = lines.map(([name, text]) => `  ${name.padEnd(WIDTH)}${text}\n`).join('')
  return `${method} ${path}\n${body}`
}

/** Formats the settings of a service on one line. */
export function formatSettings(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ')
}

/** Name of a plugin, followed by its scope and line if known: `headers (service, mx.yaml:4:7)`. */
function formatPlugin({ plugin, scope, source }: ServerExplanation['stages'][number]): string[] {
  if (plugin === undefined) return []
  const isInherited = scope === undefined || (scope === 'gateway' && !POSITION.test(source ?? ''))
  return [isInherited ? plugin : `${plugin} (${scope}, ${source})`]
}

function formatRuling({
  namespace,
  resource,
  granted,
  rule,
}: ServerExplanation['rulings'][number]): string {
  const decision = granted ? 'granted' : 'denied'
  const reason = rule === undefined ? ': no rule applies' : ` by rule ${rule.id}`
  return `${decision}${reason} (namespace ${namespace}, resource ${resource})`
}
