-- A small export of Nsight Systems: two processes, two threads, a named domain, a start/end range.
-- sqlite3 small.sqlite < small.sql
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER, uuid TEXT);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER,
	category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,
	domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER,
	globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
	contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
	demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, gridX INTEGER, blockX INTEGER);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2025.3.1');
INSERT INTO StringIds VALUES (1, 'void gemm<float>(float *, int)'), (2, 'gemm'), (3, 'axpy(float *)'), (4, 'axpy'),
	(5, 'A'), (6, 'A::A1'), (7, 'cudaLaunchKernel'), (8, 'registered op');
-- globalTid = pid << 24 | tid
INSERT INTO PROCESSES VALUES (100 << 24, 100, 'trainer'), (200 << 24, 200, 'worker');
INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'NVIDIA H200', 9, 0);
INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100, 'GPU-1'), (0, 0, 200, 'GPU-1');
INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, textId, domainId) VALUES
	(0, NULL, 75, 'libA', (100 << 24) | 100, NULL, 1),
	(1000, 9000, 59, NULL, (100 << 24) | 100, 5, 0),
	(3000, 5000, 59, NULL, (100 << 24) | 100, 6, 0),
	(3500, 4500, 59, NULL, (100 << 24) | 100, 8, 1),
	(10000, 12000, 59, 'B', (100 << 24) | 100, NULL, 0),
	(4000, 11000, 60, 'overlap', (100 << 24) | 100, NULL, 0),
	(2000, 20000, 59, 'worker loop', (100 << 24) | 101, NULL, 0),
	(1000, 8000, 59, 'A', (200 << 24) | 200, NULL, 0),
	(9000, NULL, 59, 'never closed', (200 << 24) | 200, NULL, 0),
	(50, NULL, 34, 'a mark', (100 << 24) | 100, NULL, 0);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId) VALUES
	(500, 510, (100 << 24) | 100, 1, 7),
	(2000, 2010, (100 << 24) | 100, 2, 7),
	(3600, 3610, (100 << 24) | 100, 3, 7),
	(4600, 4610, (100 << 24) | 100, 4, 7),
	(8000, 8010, (100 << 24) | 101, 5, 7),
	(10500, 10510, (100 << 24) | 100, 6, 7),
	(2000, 2010, (200 << 24) | 200, 2, 7),
	(9500, 9510, (200 << 24) | 200, 3, 7);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName) VALUES
	(600, 700, 0, 1, 7, 1, 100 << 24, 3, 4),
	(9500, 10500, 0, 1, 7, 2, 100 << 24, 1, 2),
	(10600, 10800, 0, 1, 7, 3, 100 << 24, 3, 4),
	(10900, 11200, 0, 1, 7, 4, 100 << 24, 3, 4),
	(11300, 11700, 0, 1, 9, 5, 100 << 24, 1, 2),
	(11800, 12300, 0, 1, 7, 6, 100 << 24, 1, 2),
	(2100, 2700, 0, 1, 7, 2, 200 << 24, 1, 2),
	(9600, 9650, 0, 1, 7, 3, 200 << 24, 3, 4),
	(9700, 9750, 0, 1, 7, 99, 200 << 24, 3, 4);
