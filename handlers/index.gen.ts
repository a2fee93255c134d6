// Written by `npm run gen`, not by hand.
import api from './api.ts'
import call from './call.ts'
import event from './event.ts'
import proxy from './proxy.ts'
import rpc from './rpc.ts'
import web from './web.ts'

/** Files of this folder by name; each exports a function that creates a handler. */
export const handlers: {
  readonly api: typeof api
  readonly call: typeof call
  readonly event: typeof event
  readonly proxy: typeof proxy
  readonly rpc: typeof rpc
  readonly web: typeof web
} = {
  api,
  call,
  event,
  proxy,
  rpc,
  web,
}
