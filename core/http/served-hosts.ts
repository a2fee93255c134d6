import { isIPv4 } from 'node:net'
import { toHostName } from './host-name.ts'

const NAME = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i

/**
 * Says of a `Host` field whether it is for this machine as such (`localhost`, what ends in `.localhost`, IP addresses), or for a
 * name of the list: `app.example.com`, or `*.example.com` for every name below.
 *
 * Any other name may be a stranger's, who points it at this machine to have browsers take it for the host of his own pages (DNS rebinding).
 *
 * @throws {RangeError} naming the entry that is no name.
 */
export function compileHosts(names: readonly string[]): (host: string) => boolean {
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
  return (host) => {
    const name = toHostName(host)
    return (
      exact.has(name) ||
      isIPv4(name) ||
      name.startsWith('[') ||
      suffixes.some((suffix) => name.endsWith(suffix))
    )
  }
}
