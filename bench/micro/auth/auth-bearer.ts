import type { Micro } from '../micro.ts'
import { createAuthBench } from './auth-parts.ts'

const few = await createAuthBench(0)
const many = await createAuthBench(10_000)

const micro: Micro = {
  benches: {
    'exchange without plugin': few.createRun(false, few.takeField),
    'cached token': few.createRun(true, few.takeField),
    'cached token, 10 000 rules and 1 000 scopes': many.createRun(true, many.takeField),
  },
  close() {
    for (const { close } of [few, many]) close()
  },
}

export default micro
