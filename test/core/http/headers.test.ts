import fc from 'fast-check'
import t from 'tap'
import { createHeaderBlock, HeaderList, joinOnce } from '../../../core/http/headers.ts'
import { toRuns } from '../../fixtures/property-runs.ts'

t.test('fields keep their order and repeats, names become lower case', async (t) => {
  const list = new HeaderList(['Set-Cookie', 'a=1', 'X', 'y', 'set-cookie', 'b=2'])
  t.strictSame(list.flat, ['set-cookie', 'a=1', 'x', 'y', 'set-cookie', 'b=2'])
  t.equal(list.size, 3)
  t.equal(list.get('set-cookie'), 'a=1')
  t.strictSame(list.getAll('set-cookie'), ['a=1', 'b=2'])
  t.equal(list.has('x'), true)
  t.equal(list.get('z'), undefined)
  t.strictSame(list.getAll('z'), [])
})

t.test('set replaces every field of a name, delete removes them', async (t) => {
  const list = new HeaderList(['a', '1', 'b', '2', 'a', '3', 'c', '4'])
  list.set('A', '5')
  t.strictSame(list.flat, ['b', '2', 'c', '4', 'a', '5'])
  list.delete('b')
  list.delete('nothing')
  t.strictSame(list.flat, ['c', '4', 'a', '5'])
})

t.test('names of objects are names like others', async (t) => {
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

t.test('a value must not contain control characters, and one character a byte', async (t) => {
  for (const value of ['a\r\nb: c', 'a\nb', 'a\rb', 'a\0', '\x7f', '\x1b[0m', '\u20ac', '\u2028']) {
    t.throws(
      () => new HeaderList(['a', value]),
      { name: 'TypeError', message: /^header a must not contain control/ },
      encodeURIComponent(value),
    )
  }
  t.strictSame(new HeaderList(['a', ' \tb\xe4']).flat, ['a', ' \tb\xe4'])
})

t.test('fields that frame a message are refused', async (t) => {
  for (const name of ['Content-Length', 'transfer-encoding']) {
    t.throws(() => new HeaderList([name, '1']), {
      message: `the gateway manages the header ${name.toLowerCase()}`,
    })
    t.throws(() => new HeaderList().set(name, '1'))
  }
})

t.test('a refused value leaves the list as it was, but for a replaced field', async (t) => {
  const list = new HeaderList(['a', '1'])
  t.throws(() => list.append('b', '\n'))
  t.strictSame(list.flat, ['a', '1'])
})

t.test('the list knows whether it is pure ASCII', async (t) => {
  t.equal(new HeaderList(['a', 'b']).ascii, true)
  t.equal(new HeaderList(['a', '\xff']).ascii, false)
})

t.test('nothing that is accepted can split a message', async (t) => {
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
    { numRuns: toRuns(2000) },
  )
  t.pass()
})

t.test('a block is written as its fields are, wherever it stands', async (t) => {
  const block = createHeaderBlock(['a', '1', 'b', '2'])
  const joined = 'a: 1\r\nb: 2\r\n'
  const made = HeaderList.of(block)
  t.equal(made.format(), joined)
  made.append('c', '3')
  t.equal(made.format(), `${joined}c: 3\r\n`)
  t.strictSame(HeaderList.of(block).flat, ['a', '1', 'b', '2'], 'and stays as it is')
  const list = new HeaderList(['x', '0'])
  list.appendBlock(block)
  list.append('c', '3')
  t.equal(list.format(), `x: 0\r\n${joined}c: 3\r\n`)
  list.delete('a')
  t.equal(list.format(), 'x: 0\r\nb: 2\r\nc: 3\r\n')
  t.throws(() => createHeaderBlock(['a', '\xe4']), { message: /must be ASCII/ })
})

t.test(
  'formatBehind writes a line end in front of each field in place of one behind',
  async (t) => {
    const block = createHeaderBlock(['a', '1', 'b', '2'])
    const lists = [
      new HeaderList(),
      new HeaderList(['x', '0']),
      new HeaderList(['x', '0', 'y', '1']),
      HeaderList.of(createHeaderBlock([])),
      HeaderList.of(createHeaderBlock(['x', '0'])),
      HeaderList.of(block),
    ]
    const behind = new HeaderList(['x', '0'])
    behind.appendBlock(block)
    const before = HeaderList.of(block)
    before.append('c', '3')
    for (const list of [...lists, behind, before])
      t.equal(`${list.formatBehind('200 OK')}\r\n`, `200 OK\r\n${list.format()}`)
  },
)

t.test('the leading block is the one it begins with, as long as it is whole', async (t) => {
  const block = createHeaderBlock(['a', '1', 'b', '2'])
  const list = HeaderList.of(block)
  t.equal(list.leading, block)
  list.append('c', '3')
  t.equal(list.leading, block)
  list.delete('c')
  t.equal(list.leading, undefined)
  const behind = new HeaderList(['x', '0'])
  behind.appendBlock(block)
  t.equal(behind.leading, undefined)
})

t.test('formatRest writes what is not of the block, behind a text', async (t) => {
  const block = createHeaderBlock(['a', '1', 'b', '2'])
  const list = new HeaderList(['x', '0'])
  t.equal(list.formatRest('> '), '> x: 0\r\n')
  list.appendBlock(block)
  t.equal(list.formatRest('> '), '> x: 0\r\n')
  list.append('c', '3')
  t.equal(list.formatRest(''), 'x: 0\r\nc: 3\r\n')
  list.delete('a')
  t.equal(list.block, undefined)
  t.equal(list.formatRest(''), 'x: 0\r\nb: 2\r\nc: 3\r\n', 'a block that is not whole is none')
  t.equal(HeaderList.of(block).formatRest('> '), '> ')
  t.equal(HeaderList.of(createHeaderBlock([])).formatRest('> '), '> ')
})

t.test('a block is joined once with what stays the same', async (t) => {
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
