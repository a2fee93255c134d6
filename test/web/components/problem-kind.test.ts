import t from 'tap'
import { toProblemKind } from '../../../web/components/problem-kind.ts'
import { CallError, CONNECTION_ID } from '../../../web/rpc/call-error.ts'

t.test('maps each failure to one kind', async (t) => {
  const getKind = (code: number, id = 'greeter', challenge?: string): string =>
    toProblemKind(
      new CallError(id, code, '', {
        ...(id !== CONNECTION_ID && { callee: id }),
        fields: challenge === undefined ? [] : [['www-authenticate', challenge]],
      }),
    )
  t.equal(getKind(503, CONNECTION_ID), 'unreachable')
  t.equal(getKind(401, CONNECTION_ID), 'expired')
  t.equal(getKind(401, 'greeter', 'Bearer error="invalid_token"'), 'expired')
  t.equal(getKind(401), 'forbidden', 'access rules deny with 401')
  t.equal(getKind(403), 'forbidden')
  t.equal(getKind(404), 'notFound')
  t.equal(getKind(408), 'timeout')
  t.equal(getKind(499), 'cancelled')
  t.equal(getKind(400), 'invalid')
  t.equal(getKind(503), 'other', 'an unready service differs from an unreachable server')
})
