import type { Micro } from '../micro.ts'
import { createAuthBench } from './auth-parts.ts'

const withoutRules = await createAuthBench(0)
const withManyRules = await createAuthBench(10_000)

const micro: Micro = {
  benches: {
    'exchange without plugin': withoutRules.createRun(false, withoutRules.takeField),
    'cached token': withoutRules.createRun(true, withoutRules.takeField),
    'cached token, 10 000 rules and 1 000 scopes': withManyRules.createRun(
      true,
      withManyRules.takeField,
    ),
  },
  close() {
    for (const { close } of [withoutRules, withManyRules]) close()
  },
}

export default micro
