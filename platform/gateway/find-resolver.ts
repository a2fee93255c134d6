import type { Resolver, ResolverOptions } from '../../core/route.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { resolvers } from '../../resolvers/index.gen.ts'
import { isBaseDomain } from '../../resolvers/subdomain.ts'
import type { Settings } from '../settings/settings.ts'
import { SettingsError } from '../settings/sources.ts'

/** What resolvers may need that is not known before the registry is. */
export type ResolverContext = Pick<ResolverOptions, 'registry' | 'onWarning' | 'onServices'>

/** The resolver that belongs to each handler (specification: the handler table); to the default one, `endpoint`. */
const RESOLVER_OF: ReadonlyMap<string, string> = new Map([
  ['api', 'rpc'],
  ['event', 'event'],
  ['proxy', 'proxy'],
  ['rpc', 'rpc'],
  ['web', 'proxy'],
])
/** Name, and what follows it. */
const RESOLVER = /^([^:]*)(?::domain=(.*)|:.*)?$/s

/**
 * The resolver asked for, else the handler's own. `subdomain` wraps that one, `endpoint` falls back to it.
 *
 * @throws {SettingsError} when there is no such resolver, or its option is missing or wrong.
 */
export function findResolver({
  resolver,
  handler,
}: Pick<Settings, 'resolver' | 'handler'>): (context: ResolverContext) => Resolver {
  const own = nameResolver(handler)
  const { name, domain } = parseResolver(resolver === '' ? own : resolver)
  const create = (name: string, context: ResolverContext): Resolver => {
    const part = find(resolvers, 'resolver', name)
    if (typeof part !== 'function') return part
    const inner = name === 'subdomain' ? own : own === 'proxy' ? 'proxy' : 'rpc'
    return part({ ...context, domain, inner: create(inner, context) })
  }
  return (context) => create(name, context)
}

/** Name of the resolver that is a handler's own. */
export function nameResolver(handler: Settings['handler']): string {
  return RESOLVER_OF.get(handler) ?? 'endpoint'
}

/** `<name>`, or `subdomain:domain=<base domain>`. */
function parseResolver(text: string): { name: string; domain: string } {
  const [, name = '', domain = ''] = RESOLVER.exec(text)!
  find(resolvers, 'resolver', name)
  if (name === 'subdomain' ? isBaseDomain(domain) : name === text) return { name, domain }
  const form =
    name === 'subdomain' ? 'subdomain:domain=<name>, such as subdomain:domain=example.com' : name
  throw new SettingsError([`resolver must be ${form}, got ${JSON.stringify(text)}`])
}

function find<T>(parts: Readonly<Record<string, T>>, what: string, name: string): T {
  const part = Object.hasOwn(parts, name) ? parts[name] : undefined
  if (part !== undefined) return part
  const names = Object.keys(parts)
  const meant = suggest(name, names)
  const hint = meant === undefined ? '' : `, did you mean ${meant}?`
  throw new SettingsError([
    `${what} ${name} is not part of this version, which has ${names.join(', ')}${hint}`,
  ])
}
