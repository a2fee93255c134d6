import type { Resolver, ResolverOptions } from '../../core/route.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { resolvers } from '../../resolvers/index.gen.ts'
import { isBaseDomain } from '../../resolvers/subdomain.ts'
import type { Settings } from '../settings/settings.ts'
import { SettingsError } from '../settings/sources.ts'

/** Resolver options that depend on the registry. */
export type ResolverContext = Pick<ResolverOptions, 'registry' | 'onWarning' | 'onServices'>

/**
 * Resolver for each handler (specification: handler table). The default handler uses `endpoint`.
 */
const RESOLVER_OF: ReadonlyMap<string, string> = new Map([
  ['api', 'rpc'],
  ['event', 'event'],
  ['proxy', 'proxy'],
  ['rpc', 'rpc'],
  ['web', 'proxy'],
])
const RESOLVER = /^([^:]*)(?::domain=(.*)|:.*)?$/s

/**
 * Returns the configured resolver, which defaults to the resolver of the handler. `subdomain` wraps
 * that resolver; `endpoint` falls back to it.
 *
 * @throws {SettingsError} for an unknown resolver, or a missing or invalid option.
 */
export function findResolver({
  resolver,
  handler,
}: Pick<Settings, 'resolver' | 'handler'>): (context: ResolverContext) => Resolver {
  const fallback = nameResolver(handler)
  const { name, domain } = parseResolver(resolver === '' ? fallback : resolver)
  const create = (name: string, context: ResolverContext): Resolver => {
    const part = find(resolvers, 'resolver', name)
    if (typeof part !== 'function') return part
    const inner = name === 'subdomain' ? fallback : fallback === 'proxy' ? 'proxy' : 'rpc'
    return part({ ...context, domain, inner: create(inner, context) })
  }
  return (context) => create(name, context)
}

/** Returns the name of the default resolver for a handler. */
export function nameResolver(handler: Settings['handler']): string {
  return RESOLVER_OF.get(handler) ?? 'endpoint'
}

/** Parses `<name>` or `subdomain:domain=<base domain>`. */
function parseResolver(text: string): { name: string; domain: string } {
  const [, name = '', domain = ''] = RESOLVER.exec(text)!
  find(resolvers, 'resolver', name)
  if (name === 'subdomain' ? isBaseDomain(domain) : name === text) return { name, domain }
  const form =
    name === 'subdomain' ? 'subdomain:domain=<name>, such as subdomain:domain=example.com' : name
  throw new SettingsError([`resolver must be ${form}, got ${JSON.stringify(text)}`])
}

function find<T>(parts: Readonly<Record<string, T>>, kind: string, name: string): T {
  const part = Object.hasOwn(parts, name) ? parts[name] : undefined
  if (part !== undefined) return part
  const names = Object.keys(parts)
  const suggestion = suggest(name, names)
  const hint = suggestion === undefined ? '' : `; did you mean ${suggestion}?`
  throw new SettingsError([`unknown ${kind} ${name}; known: ${names.join(', ')}${hint}`])
}
