import type { Micro } from '../micro.ts'
import { createAuthBench } from './auth-parts.ts'

const withoutRules = await createAuthBench(0)
const withManyRules = await createAuthBench(10_000)

const micro: Micro = {
  benches: {
    'exchange without plugin': withoutRules.createRun(false, undefined),
    'public rule': withoutRules.createRun(true, undefined),
    'public rule after 10 000 other rules': withManyRules.createRun(true, undefined),
  },
  close() {
    for (const { close } of [withoutRules, withManyRules]) close()
  },
}

export default micro
