import { isIPv4 } from 'node:net'
import { definePlugin, type PluginDefinition } from '../core/define-plugin.ts'
import { GATEWAY_ID, GatewayError } from '../core/errors.ts'
import { toHostName } from '../core/host-name.ts'
import { quote } from '../core/request/bad-request.ts'
import { Type } from '../core/schema.ts'

const options = Type.Object({
  allow: Type.Array(Type.String(), {
    default: [],
    description:
      'Names besides localhost and IP addresses: app.example.com, or *.example.com for every name below.',
  }),
})

const NAME = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i

/**
 * Refuses with 403 what is for another host: neither this machine as such (`localhost`, what ends in `.localhost`, IP addresses) nor listed.
 *
 * Any other name may be a stranger's, who points it at this machine to have browsers take it for the host of his own pages (DNS rebinding).
 */
const plugin: PluginDefinition = definePlugin({
  name: 'hosts',
  description: 'Refuses requests for names that are not listed.',
  options,
  create({ allow }) {
    const isAllowed = compileHosts(allow)
    // One request is mostly for the host of the next.
    let last = ''
    return {
      onRequest({ host }) {
        if (host === last) return
        if (!isAllowed(toHostName(host))) {
          const detail = `host ${quote(host)} is not served here; --hosts lists the names that are`
          throw new GatewayError(GATEWAY_ID, 403, detail)
        }
        last = host
      },
    }
  },
})

export default plugin

/** @throws {RangeError} naming the entry that is no name. */
function compileHosts(names: readonly string[]): (name: string) => boolean {
  const exact = new Set(['localhost'])
  const suffixes = ['.localhost']
  for (const entry of names) {
    if (!NAME.test(entry)) {
      throw new RangeError(
        `allow must be names such as app.example.com or *.example.com, got ${JSON.stringify(entry)}`,
      )
    }
    const lower = entry.toLowerCase()
    if (lower.startsWith('*.')) suffixes.push(lower.slice(1))
    else exact.add(lower)
  }
  return (name) =>
    exact.has(name) ||
    isIPv4(name) ||
    name.startsWith('[') ||
    suffixes.some((suffix) => name.endsWith(suffix))
}
