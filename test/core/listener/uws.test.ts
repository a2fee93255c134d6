import { createUwsListener } from '../../../core/listener/uws.ts'
import { testListener } from '../../contracts/listener.ts'

testListener({ create: createUwsListener, name: 'uws' })
