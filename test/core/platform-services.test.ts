import t from 'tap'
import { isOfPlatform } from '../../core/platform-services.ts'
import { BUILT_IN_SERVICES } from '../../platform/built-in-services.ts'

t.test('every built-in service is one of the platform, by its full name', async (t) => {
  for (const { name } of BUILT_IN_SERVICES) t.ok(isOfPlatform(name), name)
  for (const name of ['greeter', 'Auth', 'go.mx.api.auth', 'auth.v1'])
    t.notOk(isOfPlatform(name), name)
})
