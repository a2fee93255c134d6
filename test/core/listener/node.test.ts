import { createNodeListener } from '../../../core/listener/node.ts'
import { testListener } from '../../contracts/listener.ts'

testListener({ create: createNodeListener, name: 'node' })
