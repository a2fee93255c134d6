import t from 'tap'
import { bodyMemory, replyMemory } from '../../../../core/limits/memory-budget.ts'
import { AcceptedSocket } from '../../../../core/listener/websocket/accepted-socket.ts'

const MIB = 1024 * 1024

/** A WebSocket whose library ignores pauses. */
class UnpausableSocket extends AcceptedSocket {
  bufferedBytes = 0

  constructor(ends: string[]) {
    const receiver = {
      onMessage: () => {},
      onDrain: () => {},
      onClose: (code: number, reason: string) => ends.push(`${code} ${reason}`),
    }
    super({ bytesIn: 0, bytesOut: 0 }, receiver, MIB, () => {})
  }

  read(data: Uint8Array): void {
    this.receive(data, true)
  }

  /** Simulates a client that has read pending data until `bytes` are left. */
  drainTo(bytes: number): void {
    this.bufferedBytes = bytes
    this.drained()
  }

  protected transmit({ length }: Uint8Array): boolean {
    this.bufferedBytes += length
    return false
  }

  protected cork(): void {}
  protected transmitClose(): void {}
  protected closeConnection(): void {}
  protected pauseRead(): void {}
  protected resumeRead(): void {}
}

for (const [description, size] of [
  ['long', MIB],
  ['empty', 0],
] as const) {
  t.test(
    `a client that sends ${description} messages while it is paused is closed with 1013`,
    (t) => {
      const { maxBytes } = bodyMemory
      bodyMemory.maxBytes = 8 * MIB
      t.teardown(() => {
        bodyMemory.maxBytes = maxBytes
      })
      const ends: string[] = []
      const socket = new UnpausableSocket(ends)
      const message = new Uint8Array(size)
      for (let i = 0; i < 1_000_000; i++) socket.read(message)
      t.strictSame(ends, [], 'not while the client is read')
      socket.pause()
      let count = 0
      while (ends.length === 0) {
        socket.read(message)
        count++
      }
      t.strictSame(ends, ['1013 the client sends faster than its messages are read'])
      t.ok(count >= 8, `${count} buffered`)
      t.ok(count * size <= 9 * MIB, 'memory use stays bounded')
      t.equal(bodyMemory.usedBytes, 0)
      t.end()
    },
  )
}

t.test(
  'data pending for a slow client counts towards the memory until the client catches up',
  (t) => {
    const before = replyMemory.usedBytes
    const socket = new UnpausableSocket([])
    const counted = () => replyMemory.usedBytes - before
    t.equal(socket.send(new Uint8Array(MIB), true), true)
    t.equal(counted(), 0, 'not before the socket reports back-pressure')
    t.equal(socket.send(new Uint8Array(MIB), true), false)
    t.equal(counted(), 2 * MIB)
    socket.drainTo(MIB)
    t.equal(counted(), MIB)
    socket.drainTo(72_525)
    t.equal(counted(), 0, 'a small remainder is not counted')
    t.equal(socket.send(new Uint8Array(MIB), true), false)
    t.equal(counted(), MIB + 72_525)
    socket.terminate()
    t.equal(counted(), 0)
    t.end()
  },
)
