import t from 'tap'
import { toProblemKind } from '../../../web/components/problem-kind.ts'
import { CallError, CONNECTION_ID } from '../../../web/rpc/call-error.ts'

t.test('maps each failure to one kind', async (t) => {
  const kindOf = (code: number, id = 'greeter', challenge?: string): string =>
    toProblemKind(
      new CallError(id, code, '', {
        ...(id !== CONNECTION_ID && { callee: id }),
        fields: challenge === undefined ? [] : [['www-authenticate', challenge]],
      }),
    )
  t.equal(kindOf(503, CONNECTION_ID), 'unreachable')
  t.equal(kindOf(401, CONNECTION_ID), 'expired')
  t.equal(kindOf(401, 'greeter', 'Bearer error="invalid_token"'), 'expired')
  t.equal(kindOf(401), 'forbidden', 'access rules deny with 401')
  t.equal(kindOf(403), 'forbidden')
  t.equal(kindOf(404), 'notFound')
  t.equal(kindOf(408), 'timeout')
  t.equal(kindOf(499), 'cancelled')
  t.equal(kindOf(400), 'invalid')
  t.equal(kindOf(503), 'other', 'an unready service differs from an unreachable server')
})
