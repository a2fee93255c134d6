import { isIPv4 } from 'node:net'
import { toHostName } from './host-name.ts'

const NAME = /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i

/**
 * Compiles a check for `Host` headers. Allows `localhost`, `*.localhost`, IP addresses and the listed names:
 * `app.example.com`, or `*.example.com` for all subdomains.
 *
 * This prevents DNS rebinding, where an attacker points a name at this machine so that browsers treat it as the origin
 * of the attacker's pages.
 *
 * @throws {RangeError} for an invalid entry.
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
