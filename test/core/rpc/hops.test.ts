import t from 'tap'
import { addHop, HOPS_MAX } from '../../../core/rpc/hops.ts'

t.test('addHop increments mx-hops and leaves other metadata unchanged', async (t) => {
  const cases: [string, string][] = [
    ['', 'mx-hops: 1\r\n'],
    ['a: b\r\n', 'mx-hops: 1\r\na: b\r\n'],
    ['mx-hops: 1\r\na: b\r\n', 'mx-hops: 2\r\na: b\r\n'],
    ['mx-hops:9\r\n', 'mx-hops: 10\r\n'],
    ['a: b\r\nmx-hops: \t7 \r\nc: d\r\n', 'mx-hops: 8\r\na: b\r\nc: d\r\n'],
    ['a: mx-hops: 5\r\n', 'mx-hops: 1\r\na: mx-hops: 5\r\n'],
    ['x-mx-hops: 5\r\n', 'mx-hops: 1\r\nx-mx-hops: 5\r\n'],
    ['mx-hops: 2\r\nmx-hops: 5\r\n', 'mx-hops: 3\r\nmx-hops: 5\r\n'],
    // Malformed metadata is rejected by its reader.
    ['nonsense', 'mx-hops: 1\r\nnonsense'],
    ['a: b\r\nmx-hops: 3', 'mx-hops: 4\r\na: b\r\n'],
  ]
  for (const [metadata, expected] of cases) t.equal(addHop(metadata), expected, metadata)
})

t.test('rejects a call that has passed 16 proxies with 508', async (t) => {
  let metadata = 'a: b\r\n'
  for (let i = 0; i < HOPS_MAX; i++) metadata = addHop(metadata)
  t.equal(metadata, 'mx-hops: 16\r\na: b\r\n')
  for (const hops of ['16', '17', '9999'])
    t.throws(() => addHop(`mx-hops: ${hops}\r\n`), {
      id: 'go.mx.proxy',
      code: 508,
      message: `the call has passed ${hops} proxies, the maximum is 16: this is most likely a routing loop`,
    })
})

t.test('rejects a malformed mx-hops with 400', async (t) => {
  for (const hops of ['', 'x', '-1', '1.5', '1 2', '99999', '\u00b2'])
    t.throws(() => addHop(`mx-hops: ${hops}\r\n`), {
      id: 'go.mx.proxy',
      code: 400,
      message: 'metadata mx-hops must be a whole number',
    })
})
