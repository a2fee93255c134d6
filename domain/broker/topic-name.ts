import { isServiceName } from '../../core/registry/service-name.ts'

/**
 * Returns the global name of a topic or queue in a namespace, such as `acme.orders`. Dots in the
 * namespace become `=`, which topics of a namespace cannot contain: `eu.orders` in `acme` becomes
 * `acme.eu.orders`, and `orders` in `acme.eu` becomes `acme=eu.orders`.
 */
export function toTopicName(namespace: string, name: string): string {
  return `${namespace.replaceAll('.', '=')}.${name}`
}

/**
 * Returns whether a broker accepts this name of a topic or queue. The rules are the same as for
 * services, but `=` is allowed instead of dots.
 */
export function isTopicName(name: string): boolean {
  return isServiceName(name) || (name.includes('=') && isServiceName(name.replaceAll('=', '.')))
}
