import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { connect as connectTcp, isIPv6 } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { UpstreamNode } from '../node/upstream-node.ts'
import { toTlsOptions } from '../tls.ts'
import type { HealthOptions } from './health-options.ts'
import type { Probe } from './probe.ts'

const { HTTP2_HEADER_PATH, HTTP2_HEADER_METHOD } = constants
/** `HealthCheckResponse { status: SERVING }`. */
const SERVING = Buffer.from([0x08, 0x01])
const FRAME_HEADER = 5
const CHUNKS_MAX = 8

/** Calls `grpc.health.v1.Health/Check` (grpc.io, GRPC Health Checking Protocol). */
export function createGrpcProbe(node: UpstreamNode, options: HealthOptions): Probe {
  const { path: service, timeoutMs } = options
  const request = frame(service === '' ? Buffer.alloc(0) : toField(service))
  let session: ClientHttp2Session | undefined

  const open = (): ClientHttp2Session => {
    const { host, secure, lookup, tls } = node
    const port = options.port === 0 ? node.port : options.port
    const address = { host, port, ...(lookup && { lookup }) }
    const name = isIPv6(host) ? `[${host}]` : host
    const opened = connect(`${secure ? 'https' : 'http'}://${name}:${port}`, {
      createConnection: () =>
        secure
          ? connectTls({ ...address, ...toTlsOptions(tls, host), ALPNProtocols: ['h2'] })
          : connectTcp(address),
    })
    opened.unref()
    opened.on('error', () => {})
    opened.on('close', () => {
      if (session === opened) session = undefined
    })
    return opened
  }

  return {
    check(onResult) {
      if (session === undefined || session.closed || session.destroyed) session = open()
      const current = session
      let reason = ''
      let status = ''
      const chunks: Buffer[] = []
      let isSettled = false
      const end = (result: string): void => {
        if (isSettled) return
        isSettled = true
        clearTimeout(timer)
        current.off('error', fail)
        onResult(result)
      }
      const fail = ({ message }: Error): void => {
        current.destroy()
        end(message)
      }
      const timer = setTimeout(
        () => fail(new Error(`no response within ${timeoutMs} ms`)),
        timeoutMs,
      ).unref()
      current.once('error', fail)
      const stream = current.request({
        [HTTP2_HEADER_METHOD]: 'POST',
        [HTTP2_HEADER_PATH]: '/grpc.health.v1.Health/Check',
        'content-type': 'application/grpc',
        te: 'trailers',
      })
      const read = (fields: NodeJS.Dict<string | string[] | number>): void => {
        status = String(fields['grpc-status'] ?? status)
        reason = String(fields['grpc-message'] ?? reason)
      }
      stream.on('response', read).on('trailers', read)
      stream.on('data', (chunk: Buffer) => {
        // A longer response comes from a different service.
        if (chunks.length < CHUNKS_MAX) chunks.push(chunk)
      })
      stream.on('error', fail)
      stream.on('close', () => {
        const isServing = Buffer.concat(chunks).subarray(FRAME_HEADER).equals(SERVING)
        if (status === '0') end(isServing ? '' : 'status is not SERVING')
        else end(`gRPC status ${status || 'missing'}${reason === '' ? '' : `: ${reason}`}`)
      })
      stream.end(request)
    },

    close: () => session?.destroy(),
  }
}

/** Encodes field 1 as text shorter than 128 bytes. */
function toField(service: string): Buffer {
  const bytes = Buffer.from(service).subarray(0, 127)
  return Buffer.concat([Buffer.from([0x0a, bytes.length]), bytes])
}

function frame(message: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message])
}
