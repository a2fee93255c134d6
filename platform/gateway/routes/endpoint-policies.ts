import { LRUCache } from 'lru-cache'
import type { Plugin } from '../../../core/chain.ts'
import type { Endpoint } from '../../../core/contracts/registry.ts'
import { GatewayError } from '../../../core/errors.ts'
import { createPlugin, type PluginEnv } from '../../../core/plugin/define.ts'
import { POLICY } from '../../../core/registry/service.ts'
import { plugins as BUILT_IN } from '../../../plugins/index.gen.ts'

/** Maximum number of endpoints whose plugins are cached. */
const MAX_ENDPOINTS = 10_000

/**
 * Creates the plugins that endpoints declare in the registry through metadata such as
 * `policy.body-limit: {"limit": "64kb"}`.
 *
 * Services must not gain control over the gateway. Therefore, only built-in plugins with the scope
 * `endpoint` are allowed, and they run in addition to the configured plugins. An endpoint with an
 * invalid policy responds with 500, because its service relies on the policy.
 */
export function createPolicyFinder(
  env: PluginEnv,
): (service: string, endpoint: Endpoint) => readonly Plugin[] | undefined {
  const found = new WeakMap<Endpoint, readonly Plugin[]>()
  // The registry may replace an endpoint by an equal one. The state of its plugins must be
  // preserved.
  const byText = new LRUCache<string, readonly Plugin[]>({ max: MAX_ENDPOINTS })
  return (service, endpoint) => {
    const known = found.get(endpoint)
    if (known !== undefined) return known
    const policies = Object.entries(endpoint.metadata).filter(([name]) => name.startsWith(POLICY))
    if (policies.length === 0) return undefined
    const key = JSON.stringify([service, endpoint.name, policies])
    const plugins = byText.get(key) ?? createAll(service, endpoint.name, policies, env)
    byText.set(key, plugins)
    found.set(endpoint, plugins)
    return plugins
  }
}

function createAll(
  service: string,
  endpoint: string,
  policies: readonly (readonly [string, string])[],
  env: PluginEnv,
): readonly Plugin[] {
  return policies.map(([key, text]) => {
    const name = key.slice(POLICY.length)
    try {
      const definition = Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name] : undefined
      if (definition === undefined) throw new TypeError('unknown built-in plugin')
      return createPlugin(definition, JSON.parse(text), env, 'endpoint')
    } catch (error) {
      const detail = `invalid ${key} of ${service} ${endpoint}: ${(error as Error).message}`
      env.log.warn({ service, endpoint }, detail)
      return {
        name,
        onRoute() {
          throw new GatewayError(service, 500, detail)
        },
      }
    }
  })
}
