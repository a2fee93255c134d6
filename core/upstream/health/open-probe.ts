import { connect } from 'node:net'
import type { GatewayError } from '../../errors.ts'
import type { HeaderList } from '../../http/headers.ts'
import { OutgoingCall, type TransportFailure } from '../../rpc/call.ts'
import { createCaller } from '../../rpc/caller.ts'
import { HEALTH } from '../../rpc/debug-endpoints.ts'
import type { UpstreamCall, UpstreamFailure } from '../call.ts'
import type { Http1Connection } from '../http1/connection.ts'
import { toHostHeader } from '../node/node-host.ts'
import type { UpstreamNode } from '../node/upstream-node.ts'
import { createGrpcProbe } from './grpc-probe.ts'
import type { HealthOptions } from './health-options.ts'
import type { Probe } from './probe.ts'

/** Maximum interval of checks that keep their connection open for the next one. */
const MAX_REUSE_MS = 60_000
/** A check may be late, for example when many nodes are checked. */
const REUSE_MARGIN_MS = 2000

/** Creates the health check of a node. */
export function openProbe(node: UpstreamNode, options: HealthOptions): Probe {
  const { protocol } = node
  // These nodes do not support HTTP/1.1.
  if (options.type === 'http' && protocol !== 'http')
    return openProbe(node, { ...options, type: protocol, path: '' })
  switch (options.type) {
    case 'http':
      return createHttpProbe(node, options)
    case 'tcp':
      return createTcpProbe(node, options)
    case 'grpc':
      return createGrpcProbe(node, options)
    case 'mx':
      return createCallProbe(node, options)
  }
}

function createHttpProbe(node: UpstreamNode, options: HealthOptions): Probe {
  const { path, body, expect, timeoutMs, intervalMs } = options
  // Opening a connection costs more than a check.
  const keepMs = intervalMs <= MAX_REUSE_MS ? intervalMs + REUSE_MARGIN_MS : 0
  const pool = node.createPool(options.port, keepMs)
  const host = node.hostHeader ?? toHostHeader('backend', node)
  const length = Buffer.byteLength(body)
  const line = `${body === '' ? 'GET' : 'POST'} ${path === '' ? '/' : path} HTTP/1.1`
  const framing = body === '' ? '' : `content-length: ${length}\r\n`
  const head = `${line}\r\nhost: ${host}\r\nuser-agent: mx-health-check\r\n${framing}\r\n${Buffer.from(body).toString('latin1')}`
  return {
    check(onResult) {
      const timer = setTimeout(() => {
        call.isSettled = true
        pool.cancel(call)
        onResult(`no response within ${timeoutMs} ms`)
      }, timeoutMs).unref()
      const call = new ProbeCall(head, (status, detail) => {
        clearTimeout(timer)
        const isExpected = expect.some(([first, last]) => status >= first && status <= last)
        onResult(isExpected ? '' : detail || `status ${status}, expected ${formatRanges(expect)}`)
      })
      pool.dispatch(call)
    },
    close: () => pool.close(),
  }
}

function formatRanges(ranges: HealthOptions['expect']): string {
  return ranges.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(',')
}

class ProbeCall implements UpstreamCall {
  readonly method = 'GET'
  readonly head: string
  readonly bodyLength = 0
  readonly idempotent = true
  readonly isPatient = false
  readonly timeouts = undefined
  connection: Http1Connection | undefined = undefined
  isRepeat = false
  headAndBody = ''
  deadlineMs = 0
  isSettled = false
  readonly #onResult: (status: number, detail: string) => void
  #status = 0

  constructor(head: string, onResult: (status: number, detail: string) => void) {
    this.head = head
    this.#onResult = onResult
  }

  onReady(): void {}
  onUnsent(): void {}
  onBodyDrain(): void {}

  onReply(status: number): void {
    this.#end(status, '')
  }

  onReplyHead(status: number, _headers: HeaderList): void {
    this.#status = status
  }

  onReplyBody(): boolean {
    return true
  }

  onReplyEnd(): void {
    this.#end(this.#status, '')
  }

  onFailure({ detail }: UpstreamFailure): void {
    this.#end(0, detail)
  }

  #end(status: number, detail: string): void {
    if (this.isSettled) return
    this.isSettled = true
    this.#onResult(status, detail)
  }
}

function createTcpProbe(node: UpstreamNode, { port, timeoutMs }: HealthOptions): Probe {
  return {
    check(onResult) {
      const { host, lookup } = node
      const socket = connect({
        host,
        port: port === 0 ? node.port : port,
        ...(lookup && { lookup }),
      })
      const end = (reason: string): void => {
        socket.removeAllListeners()
        socket.on('error', () => {})
        socket.destroy()
        onResult(reason)
      }
      socket.setTimeout(timeoutMs, () => end(`no connection within ${timeoutMs} ms`))
      socket.once('connect', () => end(''))
      socket.once('error', ({ message }) => end(message))
      socket.unref()
    },
    close: () => {},
  }
}

function createCallProbe(node: UpstreamNode, { port, timeoutMs }: HealthOptions): Probe {
  const caller = createCaller(port === 0 ? node : { ...toCallee(node, port), port })
  return {
    check(onResult) {
      caller.call(new HealthCall(node.service, timeoutMs, onResult))
    },
    close: () => caller.close(),
  }
}

function toCallee(node: UpstreamNode, port: number) {
  const { host, secure, protocol, lookup, tls, hostHeader } = node
  return { host, secure, protocol, lookup, tls, hostHeader, pool: node.createPool(port) }
}

class HealthCall extends OutgoingCall {
  readonly #onResult: (reason: string) => void

  constructor(service: string, timeoutMs: number, onResult: (reason: string) => void) {
    super()
    this.service = service
    this.endpoint = HEALTH
    this.timeoutMs = timeoutMs
    this.body = '{}'
    this.#onResult = onResult
  }

  onReply(): void {
    this.#onResult('')
  }

  onFail({ code, message }: GatewayError): void {
    this.#onResult(`error ${code}: ${message}`)
  }

  onLost(kind: TransportFailure, detail: string): void {
    this.#onResult(detail || kind)
  }
}
