import { resolve } from 'node:path'
import type { Exchange } from '../core/exchange.ts'
import { toClass } from '../core/metrics/route-counters.ts'
import { definePlugin, type PluginDefinition } from '../core/plugin/define.ts'
import { Type } from '../core/schema.ts'
import { createLineWriter } from '../lib/io/buffered-line-writer.ts'
import { formatAccessLine, hasColors, isTerminal, type LogEntry } from '../lib/log/format-line.ts'
import { formatMs } from '../lib/text/units.ts'

const options = Type.Object({
  path: Type.String({ default: 'stdout', description: 'File to append to; stdout or stderr.' }),
  query: Type.Boolean({
    default: false,
    description: 'Whether queries are logged; they may hold tokens.',
  }),
  sample: Type.Number({
    default: 1,
    minimum: 0,
    maximum: 1,
    description:
      'Share of requests logged. Status 500 and above, such errors of gRPC, and aborted requests always are.',
  }),
})

/** What stands in JSON as it is. Anything else is escaped: controls that drive terminals, and bytes beyond ASCII, bidi marks among them. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/
const FIELD_MAX_CHARS = 1024

/**
 * Writes one JSON line per request once it is over: to the file in bulk, off the client's time. A terminal shows formatted lines.
 * Never the fields that carry secrets: no Authorization, no Cookie, no query unless asked for.
 *
 * | field | meaning |
 * |---|---|
 * | `time` | end of the exchange, ISO 8601 UTC |
 * | `id` | request id |
 * | `trace` | id of its trace; missing when nobody traces it (plugin `tracing`) |
 * | `client` | address of the client, see plugin `forwarded` |
 * | `method`, `path`, `host` | the request line as received |
 * | `status` | 0: the client left before a reply |
 * | `rpcStatus` | what a client of gRPC or Connect was told, as gRPC numbers it; missing for others |
 * | `bytesIn`, `bytesOut` | body bytes |
 * | `durationMs` | from the request's head to the reply's last byte |
 * | `upstreamMs` | from sending on to the head of the backend's reply; missing when there was none |
 * | `service`, `node` | where it went, the last node tried; missing when nowhere |
 * | `error` | why the last attempt at a node that failed did; missing when none failed, and for what services answer below 500: it may quote the request. A reply below 500 beside it is another attempt's |
 * | `account`, `namespace` | who called, and the namespace of that account; missing when nobody is known |
 * | `userAgent`, `referer` | missing when not sent |
 * | `aborted` | true when the reply is incomplete, else missing |
 */
const plugin: PluginDefinition = definePlugin({
  name: 'access-log',
  description: 'Writes a JSON line per request.',
  options,
  create({ path, query, sample }, { log, nowMs, configDir = '.' }) {
    const target = path === 'stdout' || path === 'stderr' ? path : resolve(configDir, path)
    const writer = createLineWriter({
      target,
      onError: (error) => log.error({ target, err: error }, 'the access log loses lines'),
      onRecover: (dropped) => log.warn({ target, dropped }, 'lines were lost from the access log'),
    })
    const formatJson = createFormat(query)
    const formatLine = isOnTerminal(path) ? toReadable(formatJson) : formatJson
    const formatTime = createTimeFormat()
    let share = 0
    // Once the exchange is over its connection may be gone, and the address with it: reading it before keeps it.
    const keepAddress = (x: Exchange): void => void x.remoteAddress
    return {
      onRequest: keepAddress,
      onReply: keepAddress,
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

/** The writer takes ASCII. */
function toAscii(text: string): string {
  return text.replaceAll(/[^\x00-\x7f]/g, toEscape)
}

function toEscape(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Formats lines. Fields that are mostly the same from one request to the next are quoted once. */
function createFormat(query: boolean): Format {
  const quoteMethod = remember(quote)
  const quoteHost = remember(quote)
  const quoteService = remember(quote)
  const quoteNode = remember(quote)
  const quoteAccount = remember(quote)
  const quoteNamespace = remember(quote)
  const quoteAgent = remember(quote)
  const quoteReferer = remember((url) => quote(query ? url : withoutQuery(url)))
  return (x, time) => {
    let line = `{"time":"${time}","id":${quote(x.id)},"client":${quote(x.clientAddress)},"method":${quoteMethod(x.method)},"path":${quote(query ? x.target : x.path)},"host":${quoteHost(x.host)},"status":${x.status},"bytesIn":${x.bytesIn},"bytesOut":${x.bytesOut},"durationMs":${formatMs(x.elapsedMs)}`
    if (x.trace !== undefined) line += `,"trace":"${x.trace.traceId}"`
    if (x.rpcStatus >= 0) line += `,"rpcStatus":${x.rpcStatus}`
    if (x.upstreamReplyMs > 0)
      line += `,"upstreamMs":${formatMs(x.upstreamReplyMs - x.upstreamStartMs)}`
    if (x.route !== undefined) line += `,"service":${quoteService(x.route.service)}`
    if (x.node !== '') line += `,"node":${quoteNode(x.node)}`
    const { account } = x
    if (account !== undefined)
      line += `,"account":${quoteAccount(account.id)},"namespace":${quoteNamespace(account.issuer)}`
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

/** `format`, with its last answer kept. */
function remember(format: (value: string) => string): (value: string) => string {
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

/** A JSON string of ASCII characters only, cut to a kilobyte. */
function quote(value: string): string {
  if (value.length <= FIELD_MAX_CHARS && PLAIN.test(value)) return `"${value}"`
  const cut = value.length > FIELD_MAX_CHARS ? `${value.slice(0, FIELD_MAX_CHARS)}...` : value
  let text = '"'
  for (let i = 0; i < cut.length; i++) {
    const char = cut[i]!
    text += PLAIN.test(char) ? char : toEscape(char)
  }
  return `${text}"`
}

function withoutQuery(url: string): string {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** ISO 8601 times; those of one millisecond are printed once. */
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
