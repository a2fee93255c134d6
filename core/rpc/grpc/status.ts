import { GatewayError } from '../../errors.ts'
import { encodeMessage, toGrpcStatus } from './status-codes.ts'

const GRPC = /^application\/grpc(?:[+;\s]|$)/i

/** Adds `grpc-status` and `grpc-message` to the error of a gRPC request (reference: rpc). */
export function withGrpcStatus(error: GatewayError, contentType: string | undefined): GatewayError {
  if (contentType === undefined || !GRPC.test(contentType)) return error
  const { id, code, message, cause, headers = [] } = error
  const fields = ['grpc-status', `${toGrpcStatus(code)}`, 'grpc-message', encodeMessage(message)]
  return new GatewayError(id, code, message, { cause, headers: [...headers, ...fields] })
}
