/** Parameters of paths. Any name is accepted: an impossible name simply does not exist. */
import { MessageId } from '@shardlab/contract';
import Type from 'typebox';
import { limits } from '../limits.ts';

const name = Type.String({ minLength: 1, maxLength: limits.pathParameterUnitsMax / 2 });

export const queueParams = Type.Object({ queue: name });
export const messageParams = Type.Object({ queue: name, message: MessageId });
export const subscriberParams = Type.Object({ queue: name, subscriber: name });
export const serviceParams = Type.Object({ service: name });
export const idParams = Type.Object({ id: name });
