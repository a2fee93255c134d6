import t from 'tap'
import { isBuiltInService, isReservedName } from '../../../core/registry/built-in-services.ts'
import { BUILT_IN_SERVICES } from '../../../platform/server/built-in/services.ts'

t.test('isBuiltInService returns true for the exact names of the built-in services', async (t) => {
  for (const { name } of BUILT_IN_SERVICES) t.ok(isBuiltInService(name), name)
  for (const name of ['greeter', 'Auth', 'go.mx.api.auth', 'auth.v1'])
    t.notOk(isBuiltInService(name), name)
})

t.test('names of built-in services are reserved in any letter case', async (t) => {
  for (const name of ['auth', 'AUTH', 'Auth', 'sTore']) t.ok(isReservedName(name), name)
  for (const name of ['greeter', 'auth.v1', 'authors']) t.notOk(isReservedName(name), name)
})
