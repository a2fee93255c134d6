import { isServiceName } from '../../core/registry/service-name.ts'

/**
 * Global name of a topic or queue of a namespace: `acme.orders`. Dots of the namespace become `=`, which topics of a
 * namespace cannot contain: `eu.orders` of `acme` is `acme.eu.orders`, and `orders` of `acme.eu` is `acme=eu.orders`.
 */
export function toTopicName(namespace: string, name: string): string {
  return `${namespace.replaceAll('.', '=')}.${name}`
}

/** Whether a broker accepts this topic or queue: named like a service, with `=` allowed in place of dots. */
export function isTopicName(name: string): boolean {
  return isServiceName(name) || (name.includes('=') && isServiceName(name.replaceAll('=', '.')))
}
