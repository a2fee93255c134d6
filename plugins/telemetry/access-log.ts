import { resolve } from 'node:path'
import type { Exchange } from '../../core/exchange.ts'
import { toClass } from '../../core/metrics/route-counters.ts'
import { definePlugin, type PluginDefinition } from '../../core/plugin/define.ts'
import { Type } from '../../core/schema.ts'
import { createLineWriter } from '../../lib/io/buffered-line-writer.ts'
import {
  formatAccessLine,
  hasColors,
  isTerminal,
  type LogEntry,
} from '../../lib/log/format-line.ts'
import { formatMs } from '../../lib/text/units.ts'

const options = Type.Object({
  path: Type.String({ default: 'stdout', description: 'File to append to, or stdout or stderr.' }),
  query: Type.Boolean({
    default: false,
    description: 'Log query strings, which may contain tokens.',
  }),
  sample: Type.Number({
    default: 1,
    minimum: 0,
    maximum: 1,
    description:
      'Fraction of requests to log. Requests with status 500 or above, gRPC server errors and aborted requests are always logged.',
  }),
})

/**
 * Characters written unescaped. Control characters (terminal escapes) and non-ASCII characters (bidi marks) are
 * escaped.
 */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/
const FIELD_MAX_CHARS = 1024

/**
 * Writes one buffered JSON line per finished request. Lines on a terminal are formatted for reading. Credentials are
 * never logged: no Authorization, no Cookie, and the query only with `query: true`.
 *
 * | field | meaning |
 * |---|---|
 * | `time` | end of the exchange, ISO 8601 UTC |
 * | `id` | request id |
 * | `trace` | trace id; absent without the `tracing` plugin |
 * | `client` | client address, see the `forwarded` plugin |
 * | `method`, `path`, `host` | as received |
 * | `status` | response status; 0 if the client disconnected before the response |
 * | `rpcStatus` | gRPC status code of gRPC and Connect calls, absent otherwise |
 * | `bytesIn`, `bytesOut` | body bytes |
 * | `durationMs` | from the request head to the last response byte |
 * | `upstreamMs` | from forwarding the request to the head of the backend response; absent without one |
 * | `service`, `node` | target service and the last node tried; absent if the request was not routed |
 * | `attempts` | number of attempts to send the request to a node; absent for one |
 * | `route` | name of the configured route (`routes:`), or its number from 1; absent if none matched |
 * | `error` | error of the last failed attempt, even if a later attempt succeeded; absent for service errors below 500, which may quote the request |
 * | `account`, `namespace` | caller and its namespace; absent for anonymous requests |
 * | `apiKey` | id of the API key of the caller; absent for other credentials |
 * | `userAgent`, `referer` | absent if not sent |
 * | `aborted` | true if the response is incomplete, otherwise absent |
 */
const plugin: PluginDefinition = definePlugin({
  name: 'access-log',
  description: 'Writes one JSON line per request.',
  options,
  create({ path, query, sample }, { log, nowMs, configDir = '.' }) {
    const target = path === 'stdout' || path === 'stderr' ? path : resolve(configDir, path)
    const writer = createLineWriter({
      target,
      onError: (error) =>
        log.error({ target, err: error }, 'access log write failed, dropping lines'),
      onRecover: (dropped) =>
        log.warn({ target, dropped }, 'access log recovered after dropped lines'),
    })
    const formatJson = createFormat(query)
    const formatLine = isOnTerminal(path) ? toReadable(formatJson) : formatJson
    const formatTime = createTimeFormat()
    let share = 0
    // The getter caches the address, which is unavailable once the connection is closed.
    const cacheAddress = (x: Exchange): void => void x.remoteAddress
    return {
      onRequest: cacheAddress,
      onReply: cacheAddress,
      onDone(x) {
        if (sample < 1 && toClass(x) < 5 && !x.aborted) {
          share += sample
          if (share < 1) return
          share -= 1
        }
        writer.write(formatLine(x, formatTime(nowMs())))
      },
      close: () => writer.close(),
    }
  },
})

export default plugin

type Format = (x: Exchange, time: string) => string

function isOnTerminal(path: string): boolean {
  return (path === 'stdout' && isTerminal(1)) || (path === 'stderr' && isTerminal(2))
}

function toReadable(formatJson: Format): Format {
  const isColored = hasColors()
  return (x, time) => {
    const entry = JSON.parse(formatJson(x, time)) as LogEntry
    return toAscii(formatAccessLine(entry, isColored))
  }
}

/** The line writer requires ASCII. */
function toAscii(text: string): string {
  return text.replaceAll(/[^\x00-\x7f]/g, toEscape)
}

function toEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Formats log lines. Values that rarely change between requests are quoted once. */
function createFormat(query: boolean): Format {
  const quoteMethod = memoizeLast(quote)
  const quoteHost = memoizeLast(quote)
  const quoteService = memoizeLast(quote)
  const quoteRoute = memoizeLast(quote)
  const quoteNode = memoizeLast(quote)
  const quoteAccount = memoizeLast(quote)
  const quoteApiKey = memoizeLast(quote)
  const quoteNamespace = memoizeLast(quote)
  const quoteAgent = memoizeLast(quote)
  const quoteReferer = memoizeLast((url) => quote(query ? url : withoutQuery(url)))
  return (x, time) => {
    let line = `{"time":"${time}","id":${quote(x.id)},"client":${quote(x.clientAddress)},"method":${quoteMethod(x.method)},"path":${quote(query ? x.target : x.path)},"host":${quoteHost(x.host)},"status":${x.status},"bytesIn":${x.bytesIn},"bytesOut":${x.bytesOut},"durationMs":${formatMs(x.elapsedMs)}`
    if (x.trace !== undefined) line += `,"trace":"${x.trace.traceId}"`
    if (x.rpcStatus >= 0) line += `,"rpcStatus":${x.rpcStatus}`
    if (x.upstreamReplyMs > 0)
      line += `,"upstreamMs":${formatMs(x.upstreamReplyMs - x.upstreamStartMs)}`
    if (x.route !== undefined) {
      const { service, rule } = x.route
      line += `,"service":${quoteService(service)}`
      if (rule !== undefined) line += `,"route":${quoteRoute(rule.name)}`
    }
    if (x.node !== '') line += `,"node":${quoteNode(x.node)}`
    if (x.attempts > 1) line += `,"attempts":${x.attempts}`
    const { account } = x
    if (account !== undefined) {
      line += `,"account":${quoteAccount(account.id)},"namespace":${quoteNamespace(account.issuer)}`
      if (account.apiKey !== undefined) line += `,"apiKey":${quoteApiKey(account.apiKey)}`
    }
    if (x.failure !== '') line += `,"error":${quote(x.failure)}`
    const { flat } = x.headers
    for (let i = 0; i < flat.length; i += 2) {
      const name = flat[i]
      if (name === 'user-agent') line += `,"userAgent":${quoteAgent(flat[i + 1]!)}`
      else if (name === 'referer') line += `,"referer":${quoteReferer(flat[i + 1]!)}`
    }
    return x.aborted ? `${line},"aborted":true}\n` : `${line}}\n`
  }
}

/** Memoizes the last result of `format`. */
function memoizeLast(format: (value: string) => string): (value: string) => string {
  let last = ''
  let text = format('')
  return (value) => {
    if (value !== last) {
      last = value
      text = format(value)
    }
    return text
  }
}

/** Formats an ASCII-only JSON string, truncated to {@link FIELD_MAX_CHARS}. */
function quote(value: string): string {
  if (value.length <= FIELD_MAX_CHARS && PLAIN.test(value)) return `"${value}"`
  const truncated = value.length > FIELD_MAX_CHARS ? `${value.slice(0, FIELD_MAX_CHARS)}...` : value
  let text = '"'
  for (let i = 0; i < truncated.length; i++) {
    const char = truncated[i]!
    text += PLAIN.test(char) ? char : toEscape(char)
  }
  return `${text}"`
}

function withoutQuery(url: string): string {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** Formats ISO 8601 times, memoizing the current millisecond. */
function createTimeFormat(): (ms: number) => string {
  let lastMs = Number.NaN
  let last = ''
  return (ms) => {
    if (ms !== lastMs) {
      lastMs = ms
      last = new Date(ms).toISOString()
    }
    return last
  }
}
