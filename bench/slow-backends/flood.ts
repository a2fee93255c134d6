// Clients that send as fast as possible. Arguments: port, `uploads`, `sockets` or `unfinished` (messages), number of
// clients, path, size of an upload or a message in MiB. Prints the outcomes of connections as JSON on SIGTERM, or when
// all uploads are complete.
import { connect, type Socket } from 'node:net'

const MIB = 1024 * 1024
const RECONNECT_MS = 100
const [port, kind, count, path, mib] = process.argv.slice(2)
const sizeBytes = Number(mib) * MIB
const outcomes: Record<string, number> = {}
let open = Number(count)

process.on('SIGTERM', report)
for (let i = 0; i < Number(count); i++) kind === 'uploads' ? upload() : flood()

/** Uploads once. The outcome is the response status, or `cut` if the connection closes without a response. */
function upload(): void {
  const piece = Buffer.alloc(Math.min(sizeBytes, MIB), 'x')
  let status = ''
  const socket = connect(Number(port), '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Length: ${sizeBytes}\r\n\r\n`)
  send(socket, piece, sizeBytes / piece.length)
  socket.on('data', (data: Buffer) => {
    status ||= data.toString('latin1', 9, 12)
    socket.destroy()
  })
  socket.on('close', () => {
    note(status || 'cut')
    if (--open === 0) report()
  })
}

/**
 * Opens a WebSocket that sends messages continuously, or a single message without its last byte. Reopens it when it is
 * closed. The outcome is the close code.
 */
function flood(): void {
  let code = ''
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: bench\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  )
  // Runs after the handshake response.
  socket.once('data', () => {
    const frame = toFrame(Buffer.alloc(sizeBytes, 'x'))
    if (kind === 'unfinished') send(socket, frame.subarray(0, -1), 1)
    else send(socket, frame, Number.POSITIVE_INFINITY)
  })
  socket.on('error', () => {})
  socket.on('data', (data: Buffer) => {
    if (data[0] === 0x88) code = String(data.readUInt16BE(2))
  })
  socket.on('close', () => {
    note(code || 'cut')
    setTimeout(flood, RECONNECT_MS)
  })
}

/** Sends a chunk repeatedly, as fast as the peer reads. */
function send(socket: Socket, piece: Buffer, pieces: number): void {
  let remaining = pieces
  const write = (): void => {
    while (remaining > 0 && !socket.destroyed) {
      remaining--
      if (!socket.write(piece)) return
    }
  }
  socket.on('drain', write)
  write()
}

/** Creates a binary message as a frame masked with zeros (RFC 6455 §5.2). */
function toFrame(payload: Buffer): Buffer {
  const head = Buffer.alloc(14)
  head[0] = 0x82
  head[1] = 0xff
  head.writeBigUInt64BE(BigInt(payload.length), 2)
  return Buffer.concat([head, payload])
}

function note(outcome: string): void {
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
}

function report(): void {
  process.stdout.write(`${JSON.stringify(outcomes)}\n`, () => process.exit())
}
