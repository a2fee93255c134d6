import t from 'tap'
import { isRecord, readEndpoint, readMap } from '../../../core/registry/decode-service.ts'

const NO_VALUE = { name: '', type: '', values: [] }

t.test('isRecord is true for objects only', async (t) => {
  t.ok(isRecord({}))
  for (const value of [null, [], 'x', 7, undefined]) t.notOk(isRecord(value))
})

t.test('readMap keeps string values only and drops __proto__', async (t) => {
  const map = JSON.parse('{"a": "x", "b": 7, "__proto__": "y"}')
  t.strictSame(readMap(map), { a: 'x' })
  for (const value of [undefined, null, ['x'], 'x']) t.strictSame(readMap(value), {})
})

t.test('malformed parts of an endpoint are reported by path and are read as empty', async (t) => {
  const invalid: string[] = []
  const endpoint = readEndpoint(
    {
      name: 7,
      request: { name: 'R', type: 7, values: [7, null, { name: 'id' }] },
      response: { values: {} },
      metadata: { a: 1, b: 'x' },
    },
    'e',
    (path, problem) => invalid.push(`${path} ${problem}`),
  )
  t.strictSame(endpoint, {
    name: '',
    request: { name: 'R', type: '', values: [NO_VALUE, NO_VALUE, { ...NO_VALUE, name: 'id' }] },
    response: NO_VALUE,
    metadata: { b: 'x' },
  })
  t.strictSame(invalid, [
    'e.name must be a string',
    'e.request.type must be a string',
    'e.request.values[0] must be an object',
    'e.response.values must be a list',
    'e.metadata.a must be a string',
  ])
})
