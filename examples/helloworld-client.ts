// Typed client of the service `helloworld`. See examples/README.md for how to start both.
import { Client } from 'mx-gateway'
import type { helloworld } from './helloworld/helloworld.ts'

const [address = '127.0.0.1:9003', name = 'John'] = process.argv.slice(2)
const client = new Client({ address })
const { Helloworld } = client.service<typeof helloworld>('helloworld')

const { message } = await Helloworld.call({ name })
console.log(message)
for await (const counted of Helloworld.stream.stream({ count: 3 })) console.log(counted.message)
client.close()
