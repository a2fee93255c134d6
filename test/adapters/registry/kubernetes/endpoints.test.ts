import t from 'tap'
import { parseEndpoints } from '../../../../adapters/registry/kubernetes/endpoints.ts'

const NO_VALUE = { name: '', type: '', values: [] }

t.test('requires only the name of an endpoint', async (t) => {
  const request = {
    name: 'HelloRequest',
    type: 'HelloRequest',
    values: [{ name: 'name', type: 'string', values: [] }],
  }
  const metadata = { stream: 'true' }
  const text = JSON.stringify([
    { name: 'Greeter.Hello', request, metadata },
    { name: 'Greeter.Bye' },
  ])
  t.same(parseEndpoints(text), [
    { name: 'Greeter.Hello', request, response: NO_VALUE, metadata },
    { name: 'Greeter.Bye', request: NO_VALUE, response: NO_VALUE, metadata: {} },
  ])
  t.same(parseEndpoints('[]'), [])
})

t.test('names the first invalid field', async (t) => {
  const deep = (levels: number): object => ({ values: levels === 0 ? [] : [deep(levels - 1)] })
  const cases: [string, RegExp][] = [
    ['[', /^mx\/endpoints must be JSON: /],
    ['{}', /^mx\/endpoints must be a list of at most 1000 endpoints$/],
    [JSON.stringify(Array(1001).fill({ name: 'A.B' })), /must be a list of at most 1000/],
    ['["a"]', /^mx\/endpoints\[0\] must be an object$/],
    ['[{"name": "A.B"}, {}]', /^mx\/endpoints\[1\]\.name must be a string$/],
    [
      '[{"name": "A.B", "metadata": {"stream": true}}]',
      /\[0\]\.metadata\.stream must be a string$/,
    ],
    ['[{"name": "A.B", "request": []}]', /\[0\]\.request must be an object$/],
    ['[{"name": "A.B", "request": {"values": {}}}]', /\[0\]\.request\.values must be a list$/],
    ['[{"name": "A.B", "request": {"values": [1]}}]', /\.request\.values\[0\] must be an object$/],
    [JSON.stringify([{ name: 'A.B', response: deep(33) }]), /must not nest deeper than 32$/],
  ]
  for (const [text, message] of cases)
    t.throws(() => parseEndpoints(text), { name: 'TypeError', message }, text.slice(0, 60))
  t.doesNotThrow(() => parseEndpoints(JSON.stringify([{ name: 'A.B', response: deep(32) }])))
})

t.test('ignores __proto__ as a name', async (t) => {
  const [endpoint] = parseEndpoints('[{"name": "A.B", "metadata": {"__proto__": "x", "a": "b"}}]')
  t.strictSame(Object.entries(endpoint!.metadata), [['a', 'b']])
  t.equal(Object.getPrototypeOf(endpoint!.metadata), Object.prototype)
})
