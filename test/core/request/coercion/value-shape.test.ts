import t from 'tap'
import type { Value } from '../../../../core/contracts/registry.ts'
import type { Shape } from '../../../../core/request/coercion/shape.ts'
import { toShape } from '../../../../core/request/coercion/value-shape.ts'

function value(type: string, values: readonly Value[] = [], name = ''): Value {
  return { name, type, values }
}

t.test('scalar shapes follow from type names', async (t) => {
  const cases: [string, Shape['kind']][] = [
    ['string', 'string'],
    ['bytes', 'string'],
    ['[]byte', 'string'],
    ['[]uint8', 'string'],
    ['bool', 'boolean'],
    ['boolean', 'boolean'],
    ['double', 'number'],
    ['float64', 'number'],
    ['number', 'number'],
    ['integer', 'integer'],
    ['CallRequest', 'any'],
    ['constructor', 'any'],
    ['', 'any'],
  ]
  for (const [type, kind] of cases) t.equal(toShape(value(type)).kind, kind, type)
})

t.test('integer bounds follow from type names', async (t) => {
  const bounds = (type: string) => {
    const shape = toShape(value(type))
    return shape.kind === 'integer' ? [shape.min, shape.max] : shape.kind
  }
  t.same(bounds('int8'), [-128n, 127n])
  t.same(bounds('uint8'), [0n, 255n])
  t.same(bounds('int32'), [-(2n ** 31n), 2n ** 31n - 1n])
  t.same(bounds('uint32'), [0n, 2n ** 32n - 1n])
  for (const type of ['int', 'int64']) t.same(bounds(type), [-(2n ** 63n), 2n ** 63n - 1n])
  for (const type of ['uint', 'uint64']) t.same(bounds(type), [0n, 2n ** 64n - 1n])
})

t.test('messages become objects, lists and maps contain their element type', async (t) => {
  const node = [value('string', [], 'id'), value('int64', [], 'port')]
  const shape = toShape(
    value('Request', [
      value('Node', node, 'node'),
      value('[]Node', node, 'nodes'),
      value('[]string', [], 'tags'),
      value('[][]int32', [], 'grid'),
      value('map[string]bool', [], 'flags'),
      value('map[string]Node', node, 'byId'),
      value('map[', [], 'odd'),
    ]),
  )
  if (shape.kind !== 'object') throw new TypeError('no object')
  const { fields } = shape
  const nodeShape = fields.get('node')!
  t.ok(nodeShape.kind === 'object' && nodeShape.fields.get('port')?.kind === 'integer')
  t.same(fields.get('nodes'), { kind: 'list', items: nodeShape, first: [] })
  t.same(fields.get('tags'), { kind: 'list', items: { kind: 'string' }, first: [] })
  const grid = fields.get('grid')!
  t.ok(grid.kind === 'list' && grid.items.kind === 'list' && grid.items.items.kind === 'integer')
  t.same(fields.get('flags'), { kind: 'object', fields: new Map(), rest: { kind: 'boolean' } })
  t.same(fields.get('byId'), { kind: 'object', fields: new Map(), rest: nodeShape })
  t.equal(fields.get('odd')?.kind, 'any')
  t.equal(shape.rest.kind, 'any')
})

t.test('truncates nesting 10,000 levels deep', async (t) => {
  t.equal(toShape(value('[]'.repeat(10_000))).kind, 'list')
  let nested = value('string', [], 'a')
  for (let i = 0; i < 10_000; i++) nested = value('Node', [nested], 'a')
  t.equal(toShape(nested).kind, 'object')
})
