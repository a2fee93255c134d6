import fc from 'fast-check'
import t from 'tap'
import { createHeaderBlock, HeaderList, joinOnce } from '../../../core/http/headers.ts'
import { scaleRuns } from '../../fixtures/property-runs.ts'

t.test('headers keep their order and duplicates, and names become lower case', async (t) => {
  const list = new HeaderList(['Set-Cookie', 'a=1', 'X', 'y', 'set-cookie', 'b=2'])
  t.strictSame(list.flat, ['set-cookie', 'a=1', 'x', 'y', 'set-cookie', 'b=2'])
  t.equal(list.size, 3)
  t.equal(list.get('set-cookie'), 'a=1')
  t.strictSame(list.getAll('set-cookie'), ['a=1', 'b=2'])
  t.equal(list.has('x'), true)
  t.equal(list.get('z'), undefined)
  t.strictSame(list.getAll('z'), [])
})

t.test('set replaces all headers of a name, delete removes them', async (t) => {
  const list = new HeaderList(['a', '1', 'b', '2', 'a', '3', 'c', '4'])
  list.set('A', '5')
  t.strictSame(list.flat, ['b', '2', 'c', '4', 'a', '5'])
  list.delete('b')
  list.delete('nothing')
  t.strictSame(list.flat, ['c', '4', 'a', '5'])
})

t.test('__proto__ and constructor are ordinary header names', async (t) => {
  const list = new HeaderList(['__proto__', '1', 'constructor', '2'])
  t.equal(list.get('__proto__'), '1')
  t.equal(new HeaderList().get('constructor'), undefined)
})

t.test('a name must be a token', async (t) => {
  for (const name of ['', 'a b', 'a:', 'a\r\nb', 'ä', 'a\0', '(a)', 'a/b', ' a', 'a ']) {
    t.throws(
      () => new HeaderList([name, 'x']),
      { name: 'TypeError', message: /^header name must be a token, got / },
      JSON.stringify(name),
    )
  }
})

t.test('a header value with control characters or characters above 0xFF is rejected', async (t) => {
  for (const value of ['a\r\nb: c', 'a\nb', 'a\rb', 'a\0', '\x7f', '\x1b[0m', '\u20ac', '\u2028']) {
    t.throws(
      () => new HeaderList(['a', value]),
      { name: 'TypeError', message: /^header a must not contain control/ },
      encodeURIComponent(value),
    )
  }
  t.strictSame(new HeaderList(['a', ' \tb\xe4']).flat, ['a', ' \tb\xe4'])
})

t.test('content-length and transfer-encoding are rejected', async (t) => {
  for (const name of ['Content-Length', 'transfer-encoding']) {
    t.throws(() => new HeaderList([name, '1']), {
      message: `the gateway manages the header ${name.toLowerCase()}`,
    })
    t.throws(() => new HeaderList().set(name, '1'))
  }
})

t.test('a rejected append leaves the list unchanged', async (t) => {
  const list = new HeaderList(['a', '1'])
  t.throws(() => list.append('b', '\n'))
  t.strictSame(list.flat, ['a', '1'])
})

t.test('ascii is false once a value contains a non-ASCII byte', async (t) => {
  t.equal(new HeaderList(['a', 'b']).ascii, true)
  t.equal(new HeaderList(['a', '\xff']).ascii, false)
})

t.test('accepted random names and values cannot split a message', async (t) => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (name, value) => {
      let list: HeaderList
      try {
        list = new HeaderList([name, value])
      } catch {
        return true
      }
      return !/[\0\r\n]/.test(list.flat.join('')) && !/[:\s]/.test(list.flat[0]!)
    }),
    { numRuns: scaleRuns(2000) },
  )
  t.pass()
})

t.test(
  'a header block is formatted like single headers, at any position in the list',
  async (t) => {
    const block = createHeaderBlock(['a', '1', 'b', '2'])
    const joined = 'a: 1\r\nb: 2\r\n'
    const fromBlock = HeaderList.of(block)
    t.equal(fromBlock.format(), joined)
    fromBlock.append('c', '3')
    t.equal(fromBlock.format(), `${joined}c: 3\r\n`)
    t.strictSame(HeaderList.of(block).flat, ['a', '1', 'b', '2'], 'the block is unchanged')
    const list = new HeaderList(['x', '0'])
    list.appendBlock(block)
    list.append('c', '3')
    t.equal(list.format(), `x: 0\r\n${joined}c: 3\r\n`)
    list.delete('a')
    t.equal(list.format(), 'x: 0\r\nb: 2\r\nc: 3\r\n')
    t.throws(() => createHeaderBlock(['a', '\xe4']), { message: /must be ASCII/ })
  },
)

t.test('formatAfter writes the line end before each header instead of after it', async (t) => {
  const block = createHeaderBlock(['a', '1', 'b', '2'])
  const lists = [
    new HeaderList(),
    new HeaderList(['x', '0']),
    new HeaderList(['x', '0', 'y', '1']),
    HeaderList.of(createHeaderBlock([])),
    HeaderList.of(createHeaderBlock(['x', '0'])),
    HeaderList.of(block),
  ]
  const appended = new HeaderList(['x', '0'])
  appended.appendBlock(block)
  const before = HeaderList.of(block)
  before.append('c', '3')
  for (const list of [...lists, appended, before])
    t.equal(`${list.formatAfter('200 OK')}\r\n`, `200 OK\r\n${list.format()}`)
})

t.test(
  'leading is the block at the start of the list, until one of its headers is deleted',
  async (t) => {
    const block = createHeaderBlock(['a', '1', 'b', '2'])
    const list = HeaderList.of(block)
    t.equal(list.leading, block)
    list.append('c', '3')
    t.equal(list.leading, block)
    list.delete('c')
    t.equal(list.leading, undefined)
    const appended = new HeaderList(['x', '0'])
    appended.appendBlock(block)
    t.equal(appended.leading, undefined)
  },
)

t.test('formatRest writes the headers outside the block after the given text', async (t) => {
  const block = createHeaderBlock(['a', '1', 'b', '2'])
  const list = new HeaderList(['x', '0'])
  t.equal(list.formatRest('> '), '> x: 0\r\n')
  list.appendBlock(block)
  t.equal(list.formatRest('> '), '> x: 0\r\n')
  list.append('c', '3')
  t.equal(list.formatRest(''), 'x: 0\r\nc: 3\r\n')
  list.delete('a')
  t.equal(list.block, undefined)
  t.equal(
    list.formatRest(''),
    'x: 0\r\nb: 2\r\nc: 3\r\n',
    'without the block after one of its headers is deleted',
  )
  t.equal(HeaderList.of(block).formatRest('> '), '> ')
  t.equal(HeaderList.of(createHeaderBlock([])).formatRest('> '), '> ')
})

t.test('joinOnce joins a block once per host and method', async (t) => {
  const block = createHeaderBlock(['a', '1'])
  let joined = 0
  const join = (host: string, method: string, text: string): string => {
    joined++
    return `${method} ${host}\r\n${text}`
  }
  t.equal(joinOnce(block, 0, 'h', 'GET', join), 'GET h\r\na: 1\r\n')
  t.equal(joinOnce(block, 0, 'h', 'GET', join), 'GET h\r\na: 1\r\n')
  t.equal(joined, 1)
  t.equal(joinOnce(block, 1, 'h', 'PUT', join), 'PUT h\r\na: 1\r\n')
  t.equal(joinOnce(block, 0, 'i', 'GET', join), 'GET i\r\na: 1\r\n')
  t.equal(joinOnce(block, 0, 'i', 'PUT', join), 'PUT i\r\na: 1\r\n')
  t.equal(joined, 4)
})
