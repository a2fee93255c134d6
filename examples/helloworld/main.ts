import { helloworld } from './helloworld.ts'

await helloworld.run()
