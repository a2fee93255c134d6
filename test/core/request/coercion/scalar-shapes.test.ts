import t from 'tap'
import { SAFE_INTEGER, SIZED_INTEGERS } from '../../../../core/request/coercion/scalar-shapes.ts'

t.test("sized integers have two's complement bounds", async (t) => {
  t.same([...SIZED_INTEGERS.keys()].sort(), [
    ...['int16', 'int32', 'int64', 'int8', 'uint16', 'uint32', 'uint64', 'uint8'],
  ])
  for (const [name, shape] of SIZED_INTEGERS) {
    if (shape.kind !== 'integer') throw new TypeError(name)
    const bits = Number(/\d+$/.exec(name)![0])
    const wrap = name.startsWith('u') ? BigInt.asUintN : BigInt.asIntN
    t.equal(wrap(bits, shape.max), shape.max, name)
    t.equal(wrap(bits, shape.max + 1n), shape.min, name)
  }
  t.ok(SAFE_INTEGER.kind === 'integer' && SAFE_INTEGER.max === 2n ** 53n - 1n)
})
