import { testListener } from '../../../../contracts/listener.ts'
import { createFrontedListener } from '../../../../fixtures/http2-front.ts'

testListener({ create: createFrontedListener, name: 'node', http2: true })
