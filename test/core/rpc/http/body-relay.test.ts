import t from 'tap'
import { relayMemory } from '../../../../core/limits/memory-budget.ts'
import { BodyRelay } from '../../../../core/rpc/http/body-relay.ts'

/** Opens a relay whose target accepts `capacity` bodies. */
function open(capacity = 0) {
  const target = {
    capacity,
    received: [] as string[],
    ends: 0,
    sendData(body: Uint8Array): boolean {
      if (target.capacity === 0) return false
      target.capacity--
      target.received.push(Buffer.from(body).toString())
      return true
    },
    endData: () => void target.ends++,
  }
  const consumed: number[] = []
  const relay = new BodyRelay({ consumed: (bytes) => void consumed.push(bytes) }, target)
  const push = (text: string): boolean => {
    const memory = Buffer.from(text)
    const isAccepted = relay.push(memory)
    memory.fill(0)
    return isAccepted
  }
  return { relay, target, consumed, push }
}

t.test('bodies that the target accepts immediately are not buffered', async (t) => {
  const { relay, target, consumed, push } = open(2)
  push('a')
  push('')
  t.ok(relay.isEmpty)
  t.strictSame(
    [target.received, consumed],
    [
      ['a', ''],
      [1, 0],
    ],
  )
  relay.end()
  t.equal(target.ends, 1)
})

t.test('rejected bodies and the end are buffered in order', async (t) => {
  const { relay, target, consumed, push } = open(1)
  for (const text of ['a', 'bb', 'ccc', 'dddd']) push(text)
  relay.end()
  t.notOk(relay.isEmpty)
  t.strictSame([target.received, consumed, target.ends], [['a'], [1], 0])
  target.capacity = 2
  relay.flush()
  t.strictSame([target.received, consumed, target.ends], [['a', 'bb', 'ccc'], [1, 2, 3], 0])
  target.capacity = 5
  relay.flush()
  t.strictSame(
    [target.received, consumed, target.ends],
    [['a', 'bb', 'ccc', 'dddd'], [1, 2, 3, 4], 1],
  )
  t.ok(relay.isEmpty)
})

t.test('a buffered body is not overtaken by a later one', async (t) => {
  const { relay, target, push } = open()
  push('a')
  target.capacity = 9
  push('b')
  t.strictSame(target.received, [])
  relay.flush()
  t.strictSame(target.received, ['a', 'b'])
})

t.test('the end is sent by end(), and again by flush()', async (t) => {
  const { relay, target } = open()
  relay.end()
  relay.flush()
  t.equal(target.ends, 2)
})

t.test('clear drops the buffered bodies', async (t) => {
  const { relay, target, consumed, push } = open()
  push('a')
  relay.clear()
  t.ok(relay.isEmpty)
  target.capacity = 1
  relay.flush()
  t.strictSame([target.received, consumed], [[], []])
})

t.test('a target that clears the relay within sendData gets no further body', async (t) => {
  const received: string[] = []
  let isOpen = false
  const relay: BodyRelay = new BodyRelay(
    { consumed: () => t.fail('nothing is consumed') },
    {
      sendData(body) {
        if (!isOpen) return false
        received.push(Buffer.from(body).toString())
        relay.clear()
        return true
      },
      endData: () => t.fail('no end is sent'),
    },
  )
  for (const text of ['a', 'b']) relay.push(Buffer.from(text))
  relay.end()
  isOpen = true
  relay.flush()
  t.strictSame(received, ['a'])
  t.ok(relay.isEmpty)
  t.equal(relayMemory.usedBytes, 0)
})

t.test('buffered bytes of all relays share a limit, beyond which push returns false', async (t) => {
  const { maxBytes } = relayMemory
  t.teardown(() => {
    relayMemory.maxBytes = maxBytes
  })
  relayMemory.maxBytes = 1000
  const [first, other] = [open(), open()]
  t.ok(first.push('x'.repeat(500)))
  t.ok(other.push('x'))
  t.equal(relayMemory.usedBytes, 564, 'a tiny body counts as 64 bytes')
  t.notOk(other.push('x'.repeat(500)))
  t.ok(other.push('x'.repeat(400)))
  first.target.capacity = 1
  first.relay.flush()
  t.equal(relayMemory.usedBytes, 464)
  t.ok(first.push('x'.repeat(500)))
  first.relay.clear()
  other.relay.clear()
  t.equal(relayMemory.usedBytes, 0)
})

t.test('sent bodies are freed although the buffer never empties', async (t) => {
  const { relay, target, push } = open()
  // Other tests of this process have already grown its memory.
  const { rss: beforeBytes } = process.memoryUsage()
  const text = 'x'.repeat(16_384)
  push(text)
  for (let i = 0; i < 50_000; i++) {
    push(text)
    target.capacity = 1
    relay.flush()
    target.received.length = 0
  }
  t.equal(relayMemory.usedBytes, text.length)
  const { rss } = process.memoryUsage()
  t.ok(rss - beforeBytes < 25_000 * text.length, `${rss - beforeBytes} more bytes`)
  relay.clear()
})
