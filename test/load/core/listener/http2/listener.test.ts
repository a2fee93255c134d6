import { testListener } from '../../../../contracts/listener.ts'
import { createHttp2ProxyListener } from '../../../../fixtures/http2-front.ts'

testListener({ create: createHttp2ProxyListener, name: 'node', http2: true })
