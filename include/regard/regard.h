// Includes all public headers of regard.
#pragma once

#include "regard/attention.h"
#include "regard/autograd.h"
#include "regard/error.h"
#include "regard/explain.h"
#include "regard/head.h"
#include "regard/math.h"
#include "regard/model.h"
#include "regard/print.h"
#include "regard/result.h"
#include "regard/run.h"
#include "regard/session.h"
#include "regard/tasks.h"
#include "regard/tensor.h"
#include "regard/threads.h"
#include "regard/tokenizer.h"
#include "regard/train.h"
