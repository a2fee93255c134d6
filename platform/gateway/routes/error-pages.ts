import type { Plugin } from '../../../core/chain.ts'
import type { ErrorPage } from '../../../core/errors.ts'
import type { Exchange } from '../../../core/exchange.ts'
import { toContentType } from '../../../core/files/content-type.ts'
import type { PluginLog, PluginScope } from '../../../core/plugin/define.ts'
import { watchParsedFile } from '../../../core/plugin/watch-parsed-file.ts'
import { fetchPage, PAGE_FETCHER } from '../../../core/upstream/fetch-page.ts'
import type { Upstream } from '../../../core/upstream/upstream.ts'
import type { Maybe } from '../../../lib/async/maybe.ts'
import { toFullName } from '../../config/configured-services.ts'
import type { ErrorPageEntry } from '../../config/types.ts'
import { SettingsError } from '../../settings/sources.ts'

export interface ErrorPageOptions {
  readonly namespace: string
  /** Returns the nodes of a service in the default domain, or undefined if it is not registered. */
  readonly find: (service: string) => Maybe<Upstream | undefined>
  readonly log: PluginLog
}

/** Timeout for a page from a service, after which the standard body is sent. */
const TIMEOUT_MS = 2000
const PAGE_MAX_BYTES = 256 * 1024
const LOG_INTERVAL_MS = 60_000
const JSON_TYPE = /application\/(?:[\w.+-]+\+)?json/i
const HTML_TYPE = /text\/html|application\/xhtml\+xml/i

interface Source {
  readonly find: (x: Exchange, status: number) => Maybe<ErrorPage | undefined>
  readonly close: () => void
}

/**
 * Creates the plugin for `errors:` of a scope. Errors from services are not replaced, nor are
 * errors for clients that accept JSON but not HTML.
 *
 * @throws {SettingsError} if a file cannot be read.
 */
export function createErrorPages(
  scope: PluginScope,
  entries: readonly ErrorPageEntry[],
  options: ErrorPageOptions,
): Plugin {
  const sources = new Map<string, Source>()
  const close = (): void => {
    for (const source of sources.values()) source.close()
  }
  try {
    for (const entry of entries) sources.set(entry.status, open(entry, options))
  } catch (error) {
    close()
    throw error
  }
  return {
    // The innermost scope with a page for the status applies.
    name: scope === 'gateway' ? 'errors' : `${scope}-errors`,
    onError(x, { code }) {
      const accept = x.headers.get('accept') ?? ''
      if (JSON_TYPE.test(accept) && !HTML_TYPE.test(accept)) return undefined
      // The service leads back to this gateway, whose next error would request the page again.
      if (x.headers.getAll('via').some((via) => via.includes(PAGE_FETCHER))) return undefined
      const source = sources.get(`${code}`) ?? sources.get(code < 500 ? '4xx' : '5xx')
      return source?.find(x, code)
    },
    close,
  }
}

function open(entry: ErrorPageEntry, options: ErrorPageOptions): Source {
  const { file, service, at, status } = entry
  if (file === undefined) return openService(toFullName(service!, options.namespace), options)
  try {
    return openFile(file, options.log)
  } catch (error) {
    const { message } = error as Error
    throw new SettingsError([`${at}: errors.${status}: cannot read ${file}: ${message}`], {
      cause: error,
    })
  }
}

/** Caches a file in memory and reloads it when it changes. */
function openFile(file: string, log: PluginLog): Source {
  const { type: contentType } = toContentType(file)
  const parse = (body: string): ErrorPage => {
    if (Buffer.byteLength(body) <= PAGE_MAX_BYTES) return { contentType, body }
    throw new RangeError(`it exceeds ${PAGE_MAX_BYTES} bytes`)
  }
  const watched = watchParsedFile(file, {
    parse,
    onChange: (next) => {
      page = next
    },
    log,
  })
  let page = watched.value
  return { find: () => page, close: watched.close }
}

/** Requests `/<status>` from a service. */
function openService(service: string, { find, log }: ErrorPageOptions): Source {
  let nextLogMs = 0
  const load = async (x: Exchange, status: number): Promise<ErrorPage | undefined> => {
    try {
      const upstream = await find(service)
      if (upstream === undefined) throw new Error('the service is not registered')
      const request = { target: `/${status}`, host: x.host }
      const limits = { timeoutMs: TIMEOUT_MS, maxBytes: PAGE_MAX_BYTES }
      const page = await fetchPage(upstream, { ...request, ...limits })
      const { headers, body } = page
      const isPage = (page.status >= 200 && page.status <= 299) || page.status === status
      if (!isPage || headers.has('content-encoding'))
        throw new Error(`GET /${status} returned ${page.status}, or a content coding`)
      return { contentType: headers.get('content-type') ?? 'text/html; charset=utf-8', body }
    } catch (error) {
      if (performance.now() >= nextLogMs) {
        nextLogMs = performance.now() + LOG_INTERVAL_MS
        const { message: reason } = error as Error
        log.warn({ service, status, reason }, 'no error page; sent the standard body')
      }
      return undefined
    }
  }
  return { find: load, close: () => {} }
}
