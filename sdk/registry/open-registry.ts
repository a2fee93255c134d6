import { type ConsulUrl, parseConsulUrl } from '../../adapters/registry/consul/http/url.ts'
import type { Registry } from '../../core/contracts/registry.ts'
import type { TokenSource } from '../../core/contracts/token-source.ts'
import { DEFAULT_DOMAIN } from '../../core/registry/service.ts'
import { parseHostPort } from '../../core/upstream/node/parse-node.ts'
import type { Maybe } from '../../lib/async/maybe.ts'
import { redactUrl } from '../../lib/text/redact.ts'

/** A registry opened by its address. */
export interface OpenedRegistry {
  /** Shared by all users of the same address in this process. */
  readonly registry: Registry
  /**
   * Settles when the adapter is loaded. Rejects for permanent errors: a missing file or library, or an invalid address.
   */
  readonly loaded: Promise<void>
  /** Closes the registry once its last user has called it. */
  readonly close: () => Promise<void>
}

export interface OpenOptions {
  /** Identity for registrations; shared within the process. @default anonymous */
  readonly tokens?: TokenSource | undefined
  /** Domain to read and register in, if the registry {@link supportsDomains}. @default 'mx' */
  readonly domain?: string | undefined
}

type Lazy = Pick<OpenedRegistry, 'registry' | 'loaded'>

interface Shared extends Lazy {
  users: number
  /** Tokens of its users; the first entry is used. */
  readonly tokens: TokenSource[]
}

/** Parsed address of a registry. */
interface Source {
  readonly name: string
  /** True if services can be registered. */
  readonly acceptsServices: boolean
  readonly separatesDomains: boolean
  /** @param tokens identity for registrations. */
  readonly load: (tokens: TokenSource, domain: string) => Promise<Registry>
}

/** Valid addresses, for errors. */
export const REGISTRY_FORMS =
  'memory, mx://host:port, mxs://host:port (TLS), consul://host:port, consuls://host:port or kubernetes'
const REMOTE = /^(mxs?|consuls?):\/\/(.*)$/s
/** The host, after an optional token, and the port. */
const PORT = /^(?:[^/?#@]*@)?(?:\[[^\]]*\]|[^/?#@:]+):(\d+)(?:[/?]|$)/

const opened = new Map<string, Shared>()

/**
 * Registry of a program: an object, an address, or the address in the `MX_REGISTRY` variable. The value `static` is for
 * gateways and means no registry here.
 *
 * @throws {TypeError} for an invalid address; the message lists the valid forms.
 */
export function toRegistrySource(
  configured: Registry | string | undefined,
): Registry | string | undefined {
  if (configured !== undefined && typeof configured !== 'string') return configured
  const variable = process.env['MX_REGISTRY'] ?? ''
  const text = configured ?? (variable.trim() === 'static' ? '' : variable)
  if (configured === undefined && text === '') return undefined
  parseRegistry(text, configured === undefined ? 'MX_REGISTRY' : 'registry')
  return text
}

/**
 * Opens a registry by its address: `memory`, `mx://host:port`, `mxs://host:port`, `consul://host:port`,
 * `consuls://host:port` or `kubernetes`.
 *
 * The adapter is loaded on demand.
 *
 * @throws {TypeError} for any other text.
 */
export function openRegistry(text: string, options: OpenOptions = {}): OpenedRegistry {
  const { tokens, domain = DEFAULT_DOMAIN } = options
  const key = toKey(text, domain)
  const shared = opened.get(key) ?? createShared(parseRegistry(text.trim()), domain)
  if (tokens !== undefined) shared.tokens.push(tokens)
  opened.set(key, shared)
  shared.users++
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    // The tokens of users that have closed are no longer used.
    const at = tokens === undefined ? -1 : shared.tokens.indexOf(tokens)
    if (at >= 0) shared.tokens.splice(at, 1)
    if (--shared.users > 0) return
    opened.delete(key)
    await shared.registry.close?.()
  }
  return {
    registry: shared.registry,
    loaded: shared.loaded,
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** The registry at an address, if it is open in this process. */
export function findOpenRegistry(
  source: Registry | string | undefined,
  domain?: string,
): Registry | undefined {
  return typeof source === 'string' ? opened.get(toKey(source, domain))?.registry : source
}

/**
 * True for the address of a registry.
 *
 * @throws {RangeError} for an address with an invalid part.
 */
export function isRegistryText(text: string): boolean {
  return findSource(text) !== undefined
}

/**
 * True if a registry separates domains. Kubernetes is limited to one of its namespaces, and a Consul address may itself
 * select a domain.
 */
export function supportsDomains(text: string): boolean {
  return findSource(text)?.separatesDomains === true
}

/** @param option option name for errors. */
function parseRegistry(text: string, option = 'registry'): Source {
  let source: Source | undefined
  try {
    source = findSource(text)
  } catch (cause) {
    throw new TypeError(`${option}: ${(cause as Error).message}`, { cause })
  }
  if (source !== undefined) return source
  throw new TypeError(`${option} must be ${REGISTRY_FORMS}, got ${toRedacted(text)}`)
}

function findSource(text: string): Source | undefined {
  const trimmed = text.trim()
  if (trimmed === 'memory')
    return { name: 'memory', acceptsServices: true, separatesDomains: true, load: loadMemory }
  if (trimmed === 'kubernetes')
    return {
      name: 'kubernetes',
      acceptsServices: false,
      separatesDomains: false,
      load: loadKubernetes,
    }
  const [, scheme, authority = ''] = REMOTE.exec(trimmed) ?? []
  const [, port = '1'] = PORT.exec(authority) ?? []
  if (Number(port) < 1 || Number(port) > 65_535)
    throw new RangeError(`the port of ${scheme}://host:port must be from 1 to 65535, got ${port}`)
  if (scheme?.startsWith('consul')) {
    const options = parseConsulUrl(trimmed)
    const load: Source['load'] = (_, domain) => loadConsul({ domain, ...options })
    return {
      name: 'consul',
      acceptsServices: true,
      separatesDomains: options.domain === undefined,
      load,
    }
  }
  const address = scheme === undefined ? undefined : parseHostPort(authority)
  if (address === undefined) return undefined
  const options = { ...address, secure: scheme === 'mxs' }
  const load: Source['load'] = (tokens, domain) => loadMx({ ...options, tokens, domain })
  return { name: 'mx', acceptsServices: true, separatesDomains: true, load }
}

/** Unambiguous separator, because addresses contain no spaces. */
function toKey(text: string, domain = DEFAULT_DOMAIN): string {
  return domain === DEFAULT_DOMAIN ? text.trim() : `${text.trim()} ${domain}`
}

/** The address with its token removed. */
function toRedacted(text: string): string {
  return JSON.stringify(redactUrl(text).slice(0, 253))
}

async function loadMemory(): Promise<Registry> {
  return (await import('../../adapters/registry/memory.ts')).createMemoryRegistry()
}

async function loadMx(options: {
  host: string
  port: number
  secure: boolean
  tokens: TokenSource
  domain: string
}): Promise<Registry> {
  return (await import('../../adapters/registry/mx.ts')).createMxRegistry(options)
}

async function loadConsul(options: ConsulUrl): Promise<Registry> {
  return (await import('../../adapters/registry/consul.ts')).createConsulRegistry(options)
}

async function loadKubernetes(): Promise<Registry> {
  const { createKubernetesRegistry } = await import('../../adapters/registry/kubernetes.ts')
  const { findCluster } = await import('../../adapters/kubernetes/cluster.ts')
  return createKubernetesRegistry({ cluster: await findCluster({}) })
}

function createShared(source: Source, domain: string): Shared {
  const all: TokenSource[] = []
  const find = (): TokenSource | undefined => all.find(({ isGuess }) => isGuess !== true) ?? all[0]
  const tokens: TokenSource = {
    current: () => find()?.current(),
    remainingMs: () => find()?.remainingMs() ?? Number.POSITIVE_INFINITY,
    ready: () => find()?.ready(),
    isRejected: (token) => find()?.isRejected(token) ?? false,
  }
  const shared: Shared = { ...createLazy(source, tokens, domain), users: 0, tokens: all }
  return shared
}

/** A registry whose adapter is loading. Requests wait for it. */
function createLazy(
  { name, acceptsServices, load }: Source,
  tokens: TokenSource,
  domain: string,
): Lazy {
  let adapter: Registry | undefined
  const loading = load(tokens, domain).then((registry) => {
    adapter = registry
    return registry
  })
  const loaded = loading.then(() => {})
  // Reported to callers of the registry.
  loaded.catch(() => {})
  const run = <T>(work: (registry: Registry) => Maybe<T>): Maybe<T> =>
    adapter === undefined ? loading.then(work) : work(adapter)

  const registry: Registry = {
    name,
    getService: (service) => run((registry) => registry.getService(service)),
    listServices: () => run((registry) => registry.listServices()),
    ...(acceptsServices && {
      register: (service, options) => run((registry) => registry.register!(service, options)),
      deregister: (service) => run((registry) => registry.deregister!(service)),
    }),

    watch(listener, options) {
      if (adapter !== undefined) return adapter.watch!(listener, options)
      let stop: (() => void) | undefined
      let isClosed = false
      loading.then(
        (registry) => {
          if (!isClosed) stop = registry.watch!(listener, options)
        },
        (error) => {
          if (!isClosed) options?.onOutage?.(error)
        },
      )
      return () => {
        isClosed = true
        stop?.()
      }
    },

    async close() {
      const registry = await loading.catch(() => undefined)
      await registry?.close?.()
    },
  }
  return { registry, loaded }
}
